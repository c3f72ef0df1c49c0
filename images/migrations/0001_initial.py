import django.db.models.deletion
import images.models
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('pools', '0001_initial'),
        ('teams', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Image',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reference', models.CharField(max_length=300, verbose_name='reference')),
                ('services', models.JSONField(default=images.models.default_services, verbose_name='available services')),
                ('digest', models.CharField(blank=True, max_length=80, verbose_name='digest')),
                ('retired_at', models.DateTimeField(blank=True, null=True, verbose_name='retired')),
                ('team', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='images', to='teams.team', verbose_name='team')),
                ('zones', models.ManyToManyField(related_name='images', to='pools.zone', verbose_name='availability zones')),
            ],
            options={
                'verbose_name': 'image',
                'verbose_name_plural': 'images',
                'ordering': ['reference'],
                'constraints': [models.UniqueConstraint(fields=('reference', 'team'), name='custom_image_once'), models.UniqueConstraint(condition=models.Q(('team', None)), fields=('reference',), name='preset_image_once')],
            },
        ),
    ]
