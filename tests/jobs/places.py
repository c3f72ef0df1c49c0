"""Two pools in zones of their own, and a browser that holds a form of one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.test import Client

from images.models import Image
from pools.models import Pool
from storage.models import Volume
from teams.models import Team
from tests.factories import make_image, make_pool, make_volume, make_zone, worker_spec
from tests.jobs.pages import Page

LIVE = "/jobs/estimate/"
RENDERED = (
    "spec",
    "flavor",
    "image",
    "public_data",
    "mount_volume",
    "mount_path",
    "laid_aside",
    "shown_pool",
)
OF_THE_PAGE = ("seen", "promise", "tried", "shown_pool", "shown_team", "laid_aside")


@dataclass
class Place:
    """A pool with an image and a volume of its zone."""

    pool: Pool
    image: Image
    volume: Volume

    def spec(self, gpus: int) -> str:
        return str(worker_spec(self.pool, gpus).pk)


def place(team: Team, **fields: Any) -> Place:
    """The image is `host`, unless it has a `reference` of its own, as tests with `any_image` may want."""
    zone = make_zone(public_data=fields.pop("public_data", ""))
    image = make_image(zone, reference=fields.pop("reference", ""))
    pool = make_pool(team, zone=zone, **fields)
    return Place(pool, image, make_volume(zone, team, default_mount_path=f"/mnt/{zone.name}"))


class Browser:
    """Holds a form's values, and takes from an update what the page would take."""

    def __init__(self, client: Client, sent: dict[str, Any]) -> None:
        self.client, self.sent = client, dict(sent)

    def change(self, **values: Any) -> Page:
        self.sent |= {name: v if isinstance(v, list) else [v] for name, v in values.items() if v is not None}
        self.sent = {name: v for name, v in self.sent.items() if values.get(name, ()) is not None}
        page = Page(self.client.post(LIVE, self.sent))
        fields = page.fields()
        if any(e.attrs.get("id") == "changed-part" for e in page.elements):
            self.sent["laid_aside"] = fields["laid_aside"]
        if "shown_pool" in fields:
            self.sent = {name: v for name, v in self.sent.items() if name not in RENDERED}
            self.sent |= {name: fields[name] for name in RENDERED if name in fields}
        if any(e.attrs.get("id") == "rdma-part" for e in page.elements):
            self.sent.pop("rdma", None)
            self.sent |= {"rdma": fields["rdma"]} if "rdma" in fields else {}
        return page

    def typed(self) -> dict[str, list[str]]:
        """What was chosen, without what the page keeps for itself and without empty rows."""
        kept = {name: v for name, v in self.sent.items() if name not in OF_THE_PAGE}
        rows = list(zip(kept.pop("mount_volume"), kept.pop("mount_path"), strict=True))
        return kept | {"mounts": [row for row in rows if any(row)]}


def notes(page: Page) -> list[str]:
    """What the page says of the change."""
    text = page.source.partition('id="changed-part"')[2].partition("</div>")[0]
    return [piece.partition("</p>")[0] for piece in text.split("<p>")[1:]]
