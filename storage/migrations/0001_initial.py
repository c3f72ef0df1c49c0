import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('pools', '0001_initial'),
        ('teams', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='FileSystem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=80, unique=True, verbose_name='name')),
                ('zone', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='file_systems', to='pools.zone', verbose_name='availability zone')),
            ],
            options={
                'verbose_name': 'file system',
                'verbose_name_plural': 'file systems',
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='Volume',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=80, verbose_name='name')),
                ('path', models.CharField(max_length=500, verbose_name='folder of the machine')),
                ('default_mount_path', models.CharField(default='/mnt/public', max_length=500, verbose_name='suggested mount path')),
                ('retired_at', models.DateTimeField(blank=True, null=True, verbose_name='retired')),
                ('file_system', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='volumes', to='storage.filesystem', verbose_name='file system')),
            ],
            options={
                'verbose_name': 'volume',
                'verbose_name_plural': 'volumes',
                'ordering': ['file_system', 'name'],
            },
        ),
        migrations.CreateModel(
            name='VolumeGrant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('read_only', models.BooleanField(default=False, verbose_name='read only')),
                ('suggested', models.BooleanField(default=True, help_text='Pre-filled in the form of a new job.', verbose_name='suggested')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='volume_grants', to='teams.team', verbose_name='team')),
                ('volume', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='grants', to='storage.volume', verbose_name='volume')),
            ],
            options={
                'verbose_name': 'volume grant',
                'verbose_name_plural': 'volume grants',
            },
        ),
        migrations.AddConstraint(
            model_name='volume',
            constraint=models.UniqueConstraint(fields=('file_system', 'name'), name='volume_name_once'),
        ),
        migrations.AddConstraint(
            model_name='volumegrant',
            constraint=models.UniqueConstraint(fields=('volume', 'team'), name='volume_grant_once'),
        ),
    ]
