import django.db.models.deletion
import jobs.models
import jobs.states
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('images', '0001_initial'),
        ('pools', '0001_initial'),
        ('teams', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Job',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(default=jobs.models.new_key, max_length=19, unique=True, verbose_name='id')),
                ('name', models.CharField(max_length=128, verbose_name='job name')),
                ('description', models.CharField(blank=True, max_length=2000, verbose_name='description')),
                ('framework', models.CharField(default=jobs.states.Framework['SINGLE'], max_length=20, verbose_name='framework')),
                ('request', models.JSONField(verbose_name='request')),
                ('frozen', models.JSONField(verbose_name='frozen facts')),
                ('findings', models.JSONField(default=list, verbose_name='check results')),
                ('priority', models.PositiveSmallIntegerField(choices=[(jobs.states.Priority['HIGH'], 'high'), (jobs.states.Priority['NORMAL'], 'normal'), (jobs.states.Priority['LOW'], 'low')], default=jobs.states.Priority['NORMAL'], verbose_name='priority')),
                ('worker_gpus', models.PositiveSmallIntegerField(verbose_name='GPUs of a full Worker')),
                ('total_gpus', models.PositiveIntegerField(verbose_name='total GPUs')),
                ('state', models.CharField(choices=[(jobs.states.State['QUEUED'], 'queued'), (jobs.states.State['DEPLOYING'], 'deploying'), (jobs.states.State['RUNNING'], 'running'), (jobs.states.State['SUCCEEDED'], 'succeeded'), (jobs.states.State['FAILED'], 'failed'), (jobs.states.State['STOPPED'], 'stopped')], default=jobs.states.State['QUEUED'], max_length=10, verbose_name='state')),
                ('deploy_step', models.CharField(blank=True, max_length=12, verbose_name='deploy step')),
                ('reason', models.JSONField(null=True, verbose_name='reason')),
                ('eligible_at', models.DateTimeField(verbose_name='eligible from')),
                ('stop_requested_at', models.DateTimeField(null=True, verbose_name='stop requested')),
                ('attempt', models.PositiveIntegerField(default=0, verbose_name='attempt')),
                ('exit_code', models.PositiveSmallIntegerField(null=True, verbose_name='exit code')),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('started_at', models.DateTimeField(null=True, verbose_name='started')),
                ('ended_at', models.DateTimeField(null=True, verbose_name='ended')),
                ('creator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='jobs', to=settings.AUTH_USER_MODEL, verbose_name='creator')),
                ('flavor', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='jobs', to='pools.flavor', verbose_name='node flavor')),
                ('image', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='jobs', to='images.image', verbose_name='image')),
                ('pool', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='jobs', to='pools.pool', verbose_name='resource pool')),
                ('spec', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='jobs', to='pools.workerspec', verbose_name='Worker spec')),
                ('stop_requested_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='stopped by')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='jobs', to='teams.team', verbose_name='team')),
            ],
            options={
                'verbose_name': 'job',
                'verbose_name_plural': 'jobs',
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='Attempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField(verbose_name='number')),
                ('port', models.PositiveIntegerField(null=True, verbose_name='port')),
                ('port_settled', models.BooleanField(default=False, verbose_name='port was probed')),
                ('placed_at', models.DateTimeField(verbose_name='placed')),
                ('started_at', models.DateTimeField(null=True, verbose_name='started')),
                ('ended_at', models.DateTimeField(null=True, verbose_name='ended')),
                ('first_failure', models.JSONField(null=True, verbose_name='first failure')),
                ('job', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='attempts', to='jobs.job', verbose_name='job')),
            ],
            options={
                'verbose_name': 'attempt',
                'verbose_name_plural': 'attempts',
                'ordering': ['job', 'number'],
            },
        ),
        migrations.CreateModel(
            name='JobEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(verbose_name='time')),
                ('code', models.CharField(max_length=40, verbose_name='code')),
                ('data', models.JSONField(default=dict, verbose_name='data')),
                ('actor', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='by')),
                ('job', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='events', to='jobs.job', verbose_name='job')),
            ],
            options={
                'verbose_name': 'event',
                'verbose_name_plural': 'events',
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='JobTag',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=63, verbose_name='tag')),
                ('job', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tags', to='jobs.job', verbose_name='job')),
            ],
            options={
                'verbose_name': 'tag',
                'verbose_name_plural': 'tags',
            },
        ),
        migrations.CreateModel(
            name='PrivateValue',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=255, verbose_name='name')),
                ('ciphertext', models.BinaryField(verbose_name='encrypted value')),
                ('job', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='private_values', to='jobs.job', verbose_name='job')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='owner')),
            ],
            options={
                'verbose_name': 'private value',
                'verbose_name_plural': 'private values',
            },
        ),
        migrations.CreateModel(
            name='WaitingTotal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('priority', models.PositiveSmallIntegerField(verbose_name='priority')),
                ('worker_gpus', models.PositiveSmallIntegerField(verbose_name='GPUs of a full Worker')),
                ('total_gpus', models.PositiveIntegerField(verbose_name='total GPUs')),
                ('jobs', models.IntegerField(default=0, verbose_name='jobs')),
                ('flavor', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='pools.flavor', verbose_name='node flavor')),
                ('pool', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='waiting', to='pools.pool', verbose_name='resource pool')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='teams.team', verbose_name='team')),
            ],
            options={
                'verbose_name': 'waiting total',
                'verbose_name_plural': 'waiting totals',
            },
        ),
        migrations.CreateModel(
            name='Worker',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('rank', models.PositiveIntegerField(verbose_name='rank')),
                ('node_name', models.CharField(max_length=80, verbose_name='node name')),
                ('gpus', models.JSONField(verbose_name='GPUs')),
                ('exit_code', models.PositiveSmallIntegerField(null=True, verbose_name='exit code')),
                ('signal', models.PositiveSmallIntegerField(null=True, verbose_name='signal')),
                ('started_at', models.DateTimeField(null=True, verbose_name='started')),
                ('ended_at', models.DateTimeField(null=True, verbose_name='ended')),
                ('attempt', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='workers', to='jobs.attempt', verbose_name='attempt')),
                ('node', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='workers', to='pools.node', verbose_name='node')),
            ],
            options={
                'verbose_name': 'Worker',
                'verbose_name_plural': 'Workers',
                'ordering': ['attempt', 'rank'],
            },
        ),
        migrations.CreateModel(
            name='IdempotencyKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('path', models.CharField(max_length=200)),
                ('key', models.CharField(max_length=200)),
                ('body_hash', models.CharField(max_length=64)),
                ('status', models.PositiveSmallIntegerField(null=True)),
                ('answer', models.JSONField(null=True)),
                ('created_at', models.DateTimeField()),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'idempotency key',
                'verbose_name_plural': 'idempotency keys',
                'constraints': [models.UniqueConstraint(fields=('user', 'path', 'key'), name='idempotency_key_once')],
            },
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('state', jobs.states.State['QUEUED'])), fields=['flavor', 'priority', 'team', 'worker_gpus', 'total_gpus', 'id'], name='job_waiting'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('state', jobs.states.State['QUEUED'])), fields=['pool', 'priority', 'id'], name='job_place'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('state__in', [jobs.states.State['DEPLOYING'], jobs.states.State['QUEUED'], jobs.states.State['RUNNING']])), fields=['state', 'id'], name='job_live'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(fields=['team', '-id'], name='job_of_team'),
        ),
        migrations.AddConstraint(
            model_name='attempt',
            constraint=models.UniqueConstraint(fields=('job', 'number'), name='attempt_once'),
        ),
        migrations.AddConstraint(
            model_name='attempt',
            constraint=models.UniqueConstraint(condition=models.Q(('ended_at', None)), fields=('port',), name='port_once'),
        ),
        migrations.AddIndex(
            model_name='jobtag',
            index=models.Index(fields=['name', 'job'], name='tag_jobs'),
        ),
        migrations.AddConstraint(
            model_name='jobtag',
            constraint=models.UniqueConstraint(fields=('job', 'name'), name='tag_once'),
        ),
        migrations.AddConstraint(
            model_name='privatevalue',
            constraint=models.UniqueConstraint(fields=('job', 'name'), name='private_value_once'),
        ),
        migrations.AddConstraint(
            model_name='waitingtotal',
            constraint=models.UniqueConstraint(fields=('flavor', 'priority', 'team', 'worker_gpus', 'total_gpus'), name='waiting_class_once'),
        ),
        migrations.AddConstraint(
            model_name='waitingtotal',
            constraint=models.CheckConstraint(condition=models.Q(('jobs__gte', 0)), name='waiting_not_negative'),
        ),
        migrations.AddConstraint(
            model_name='worker',
            constraint=models.UniqueConstraint(fields=('attempt', 'rank'), name='worker_once'),
        ),
    ]
