import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('teams', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Flavor',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=80, verbose_name='name')),
                ('gpu_model', models.CharField(max_length=80, verbose_name='GPU model')),
                ('gpus_per_node', models.PositiveSmallIntegerField(default=8, verbose_name='GPUs per node')),
                ('cpus', models.PositiveIntegerField(default=0, verbose_name='CPUs')),
                ('memory_gib', models.PositiveIntegerField(default=0, verbose_name='memory (GiB)')),
                ('network', models.CharField(choices=[('none', 'none'), ('roce', 'RoCE'), ('ib', 'IB')], default='none', max_length=4, verbose_name='training network')),
                ('network_label', models.CharField(blank=True, help_text='for example RoCE 1*200G', max_length=40, verbose_name='network label')),
                ('idle_nodes', models.JSONField(default=list, editable=False, verbose_name='schedulable nodes by idle GPUs')),
                ('node_count', models.PositiveIntegerField(default=0, editable=False, verbose_name='nodes not retired')),
                ('head_job', models.BigIntegerField(editable=False, null=True, verbose_name='head of the queue')),
                ('head_since', models.DateTimeField(editable=False, null=True, verbose_name='head since')),
            ],
            options={
                'verbose_name': 'node flavor',
                'verbose_name_plural': 'node flavors',
                'ordering': ['pool', 'name'],
            },
        ),
        migrations.CreateModel(
            name='Pool',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=80, unique=True, verbose_name='name')),
                ('engine', models.CharField(choices=[('local', 'local')], default='local', max_length=20, verbose_name='engine')),
                ('discipline', models.CharField(choices=[('best_effort_fifo', 'best-effort FIFO'), ('strict_fifo', 'strict FIFO')], default='best_effort_fifo', max_length=20, verbose_name='queue discipline')),
                ('max_overtake_minutes', models.PositiveIntegerField(default=60, verbose_name='longest overtaking (minutes)')),
                ('paused', models.BooleanField(default=False, help_text='Running jobs go on; none starts.', verbose_name='paused')),
                ('retired_at', models.DateTimeField(blank=True, null=True, verbose_name='retired')),
            ],
            options={
                'verbose_name': 'resource pool',
                'verbose_name_plural': 'resource pools',
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='Zone',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=80, unique=True, verbose_name='name')),
                ('public_data', models.CharField(blank=True, help_text='Folder of the machine that jobs see read-only at /infini-data/; empty: not offered.', max_length=500, verbose_name='public data folder')),
            ],
            options={
                'verbose_name': 'availability zone',
                'verbose_name_plural': 'availability zones',
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='Node',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=80, verbose_name='name')),
                ('state', models.CharField(choices=[('ready', 'ready'), ('cordoned', 'cordoned'), ('down', 'down'), ('retired', 'retired')], default='ready', max_length=10, verbose_name='state')),
                ('schedulable', models.BooleanField(default=True, editable=False, verbose_name='schedulable')),
                ('idle', models.PositiveSmallIntegerField(default=0, editable=False, verbose_name='idle GPUs')),
                ('prepaid_until', models.DateField(blank=True, null=True, verbose_name='prepaid until')),
                ('flavor', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='nodes', to='pools.flavor', verbose_name='node flavor')),
            ],
            options={
                'verbose_name': 'resource node',
                'verbose_name_plural': 'resource nodes',
                'ordering': ['flavor', 'name'],
            },
        ),
        migrations.CreateModel(
            name='Hold',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('gpu', models.PositiveSmallIntegerField(verbose_name='GPU')),
                ('worker_id', models.BigIntegerField(db_index=True, verbose_name='Worker')),
                ('node', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='holds', to='pools.node', verbose_name='node')),
            ],
            options={
                'verbose_name': 'hold',
                'verbose_name_plural': 'holds',
            },
        ),
        migrations.CreateModel(
            name='Grant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('max_gpus', models.PositiveIntegerField(blank=True, null=True, verbose_name='most GPUs held')),
                ('held_gpus', models.PositiveIntegerField(default=0, editable=False, verbose_name='GPUs held')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='grants', to='teams.team', verbose_name='team')),
                ('pool', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='grants', to='pools.pool', verbose_name='resource pool')),
            ],
            options={
                'verbose_name': 'grant',
                'verbose_name_plural': 'grants',
            },
        ),
        migrations.AddField(
            model_name='flavor',
            name='pool',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='flavors', to='pools.pool', verbose_name='resource pool'),
        ),
        migrations.CreateModel(
            name='WorkerSpec',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=80, verbose_name='name')),
                ('gpus', models.PositiveSmallIntegerField(choices=[(1, '1'), (2, '2'), (4, '4'), (8, '8')], verbose_name='GPUs')),
                ('cpus', models.PositiveIntegerField(default=0, verbose_name='CPUs')),
                ('memory_gib', models.PositiveIntegerField(default=0, verbose_name='memory (GiB)')),
                ('shm_gib', models.PositiveIntegerField(default=1, verbose_name='shared memory (GiB)')),
                ('retired_at', models.DateTimeField(blank=True, null=True, verbose_name='retired')),
                ('flavor', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='specs', to='pools.flavor', verbose_name='node flavor')),
            ],
            options={
                'verbose_name': 'Worker spec',
                'verbose_name_plural': 'Worker specs',
                'ordering': ['flavor', 'gpus'],
            },
        ),
        migrations.AddField(
            model_name='pool',
            name='zone',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='pools', to='pools.zone', verbose_name='availability zone'),
        ),
        migrations.AddIndex(
            model_name='node',
            index=models.Index(fields=['flavor', 'schedulable', 'idle', 'name'], name='node_landing'),
        ),
        migrations.AddConstraint(
            model_name='node',
            constraint=models.UniqueConstraint(fields=('flavor', 'name'), name='node_name_once'),
        ),
        migrations.AddConstraint(
            model_name='hold',
            constraint=models.UniqueConstraint(fields=('node', 'gpu'), name='gpu_held_once'),
        ),
        migrations.AddConstraint(
            model_name='grant',
            constraint=models.UniqueConstraint(fields=('pool', 'team'), name='grant_once'),
        ),
        migrations.AddConstraint(
            model_name='flavor',
            constraint=models.UniqueConstraint(fields=('pool', 'name'), name='flavor_name_once'),
        ),
        migrations.AddConstraint(
            model_name='workerspec',
            constraint=models.UniqueConstraint(fields=('flavor', 'name'), name='spec_name_once'),
        ),
    ]
