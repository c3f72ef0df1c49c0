"""The terms of the interface, one table: each stands on the Chinese page where a reader looks for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from jobs.lifecycle import move
from jobs.models import Job
from jobs.scheduling import queue_cycle
from jobs.states import State
from pools.models import Pool
from tests.alerts.notices import make_notice
from tests.factories import (
    make_channel,
    make_image,
    make_job,
    make_pool,
    make_team,
    make_user,
    make_volume,
    make_zone,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chinese")]

LABELS = {
    "frame": "工作台 任务列表 资源池 镜像中心 存储 告警 帮助 创建任务 租户",
    "create": "任务类型 训练任务 资源类型 包年包月资源 资源池 占用情况 负载排队情况 Worker&nbsp;规格 "
    "Worker&nbsp;数量 总&nbsp;GPU&nbsp;数量 可启动数量 空闲卡数 自定义卡数 RDMA 镜像 分布式框架 单机 "
    "PyTorch&nbsp;DDP 启动命令 环境变量 仅创建人可见 系统盘 公共数据 高性能存储 挂载路径 "
    "任务告警 任务名称 描述 标签 高级 失败后保留现场 容错 自动重启 Hang&nbsp;检测 环境检测 核对路径 "
    "提交前确认 试跑 确认创建 可立即启动",
    "queued": "任务列表 任务详情 排队中 事件 任务日志 克隆 改配重跑 停止并改配 定位问题 优先级",
    "deploying": "部署中 分配资源 准备存储 初始化 拉取镜像",
    "running": "运行中 进程栈",
    "stopped": "已停止 重跑 改配重跑 克隆",
    "list": "任务列表 排队中 详细进度",
    "pools": "资源池 可用区 空闲 可启动",
    "pool": "空闲卡数 可启动数量 占用情况 负载排队情况 节点",
    "images": "镜像中心 预置镜像 可用服务 可用区",
    "alerts": "需要关注 通知 渠道 规则",
    "notices": "全部标为已读",
    "channels": "新建渠道 发送到 使用范围 测试",
    "rules": "我的新任务 添加规则",
    "storage": "文件系统 存储卷 挂载路径 可用区",
}
# Terms whose feature is not there yet: a page that shows one has to move it into the table above.
NOT_YET = "MPI Ray 任务可视化"


@pytest.fixture
def pages(client: Client) -> Callable[[str], str]:
    zone = make_zone(public_data="/srv/public")
    pool = make_pool(team := make_team(), zone=zone, network="roce")
    make_image(zone)
    make_volume(zone, team)
    user = make_user(team)
    make_notice(user)
    make_channel(user)
    client.force_login(user)

    def show(name: str) -> str:
        addresses = {
            "frame": "/settings/",
            "create": "/jobs/create/?example=1",
            "list": "/jobs/",
            "pools": "/pools/",
            "pool": f"/pools/{pool.pk}/",
            "images": "/images/",
            "storage": "/storage/",
            "alerts": "/alerts/",
            "notices": "/alerts/notices/",
            "channels": "/alerts/channels/",
            "rules": "/alerts/rules/",
        }
        job = make_job(user, pool)
        address = addresses.get(name) or f"/jobs/{in_state(job, pool, State(name)).key}/"
        return client.get(address, headers={"accept-language": "zh-CN"}).content.decode()

    return show


def in_state(job: Job, pool: Pool, state: State) -> Job:
    """Moves the job there by the doors that the console itself uses."""
    if state != State.QUEUED:
        queue_cycle(pool.pk)
    if state == State.RUNNING:
        move([job.pk], State.DEPLOYING, State.RUNNING)
    if state == State.STOPPED:
        move([job.pk], State.DEPLOYING, State.STOPPED)
    return job


def words_of(line: str) -> list[str]:
    return [word.replace("&nbsp;", " ") for word in line.split()]


@pytest.mark.parametrize("page", LABELS)
def test_each_term_is_on_its_page(pages: Callable[[str], str], page: str) -> None:
    source = pages(page)
    assert [word for word in words_of(LABELS[page]) if word not in source] == []


def test_what_is_not_there_is_not_offered(pages: Callable[[str], str]) -> None:
    form = pages("create").partition('<form id="create-form"')[2].partition("</form>")[0]
    labels = form.replace("<option", "\n<option")
    assert [word for word in words_of(NOT_YET) if f">{word}" in labels] == []
