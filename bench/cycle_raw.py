"""The raw side of the cycle benchmark: the same rows by the shortest bulk SQL."""

from __future__ import annotations

from django.db import connection, transaction

from jobs.scheduling import MOST_STARTS

STATEMENTS = (
    "CREATE TEMP TABLE batch ON COMMIT DROP AS SELECT j.id AS job, n.node, n.name, n.gpu"
    " FROM (SELECT id, row_number() OVER (ORDER BY id) AS r FROM jobs_job WHERE state = 'queued'"
    "  ORDER BY id LIMIT %(most)s) j"
    " JOIN (SELECT node, name, gpu, row_number() OVER (ORDER BY name, gpu) AS r FROM"
    "  (SELECT id AS node, name, generate_series(0, idle - 1) AS gpu FROM pools_node WHERE idle > 0"
    "   ORDER BY name LIMIT %(most)s) g) n USING (r)",
    "UPDATE jobs_job SET state = 'deploying', reason = NULL, deploy_step = 'allocate', attempt = attempt + 1"
    " FROM batch WHERE id = batch.job",
    "INSERT INTO jobs_jobevent (job_id, at, code, data, actor_id)"
    " SELECT job, now(), 'deploying', '{}'::jsonb, NULL FROM batch",
    "INSERT INTO jobs_attempt (job_id, number, port, port_settled, placed_at)"
    " SELECT job, 1, NULL, false, now() FROM batch",
    "INSERT INTO jobs_worker (attempt_id, rank, node_id, node_name, gpus)"
    " SELECT a.id, 0, node, name, jsonb_build_array(gpu) FROM batch"
    " JOIN jobs_attempt a ON a.job_id = batch.job",
    "INSERT INTO pools_hold (node_id, gpu, worker_id)"
    " SELECT node, gpu, w.id FROM batch JOIN jobs_attempt a ON a.job_id = batch.job"
    " JOIN jobs_worker w ON w.attempt_id = a.id",
    "UPDATE pools_node SET idle = idle - taken.gpus"
    " FROM (SELECT node, count(*) AS gpus FROM batch GROUP BY node) taken WHERE id = taken.node",
    "UPDATE pools_flavor SET idle_nodes = (SELECT jsonb_agg((SELECT count(*) FROM pools_node"
    " WHERE flavor_id = pools_flavor.id AND schedulable AND idle = k) ORDER BY k)"
    " FROM generate_series(0, gpus_per_node) k) WHERE pool_id = %(pool)s",
    "UPDATE jobs_waitingtotal SET jobs = jobs - (SELECT count(*) FROM batch) WHERE pool_id = %(pool)s",
    "UPDATE pools_grant SET held_gpus = held_gpus + (SELECT count(*) FROM batch) WHERE pool_id = %(pool)s",
)


def write_raw(pool_id: int) -> None:
    """Starts all waiting one-GPU jobs, in transactions of as many starts as the queue cycle's."""
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM pools_pool WHERE id = %s FOR NO KEY UPDATE", [pool_id])
            cursor.execute("SELECT 1 FROM jobs_job WHERE state = 'queued' LIMIT 1")
            if cursor.fetchone() is None:
                return
            for statement in STATEMENTS:
                cursor.execute(statement, {"most": MOST_STARTS, "pool": pool_id})
