"""The API that mem0 clients (``mem0ai`` 2) call, on the same manager.

A mem0 user is a namespace below that of the token, ``agent_id`` is the actor and ``run_id`` the
session. A mem0 id begins with the user, since clients ask for a memory by its id alone. With
``infer`` (their default), messages are observed; without, each is stored as it is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from memento.errors import InvalidInput, NotFound, NotHere
from memento.serve.access import Caller, counted, namespace_of
from memento.serve.app import Service, json_of
from memento.types import Hit, Memory

PAGE = 100
_WHO = {"user_id", "agent_id", "run_id"}
_FILTERS = {"agent_id": "actor", "run_id": "session", "metadata": "where"}
Json = dict[str, Any]


class Asked(NamedTuple):
    """One request of a client.

    Attributes:
        service: The service.
        caller: Who asks.
        said: The body and the query, as one object.
        request: The request.
    """

    service: Service
    caller: Caller
    said: Json
    request: Request

    async def call(self, user: str | None, method: str, **arguments: Any) -> Any:
        """Call a method of the manager in the namespace of a mem0 user; None for the token's."""
        labels = namespace_of(self.caller, None)
        where = labels if user is None else (*labels, user)
        return await self.service.call(self.caller, method, arguments, namespace=where)


def routes(service: Service) -> list[BaseRoute]:
    """Return the routes of mem0's API."""
    table: dict[str, dict[str, Callable[[Asked], Awaitable[Any]]]] = {
        "/v1/ping/": {"GET": _ping},
        "/v3/memories/add/": {"POST": _add},
        "/v3/memories/": {"POST": _list},
        "/v3/memories/search/": {"POST": _search},
        "/v1/memories/{id}/": {"GET": _get, "PUT": _update, "DELETE": _delete},
        "/v1/memories/{id}/history/": {"GET": _history},
        "/v1/memories/": {"DELETE": _delete_all},
        "/v1/batch/": {"PUT": _batch_update, "DELETE": _batch_delete},
        "/v1/entities/": {"GET": _entities},
        "/v2/entities/{type}/{name:path}/": {"DELETE": _delete_entity},
    }
    absent = (
        "/v1/exports/{rest:path}",
        "/v1/summary/",
        "/v1/feedback/",
        "/v2/entities/{rest:path}",
    )
    return [
        *(
            Route(path, partial(_answered, service, answer), methods=[method])
            for path, answers in table.items()
            for method, answer in answers.items()
        ),
        *(Route(path, _absent, methods=["GET", "POST"]) for path in absent),
    ]


async def _answered(
    service: Service, answer: Callable[[Asked], Awaitable[Any]], request: Request
) -> Response:
    request.state.caller = caller = service.caller(request)
    limits = service.settings.limits
    most = limits.large if answer is _add else limits.body
    body = json_of(await service.body(caller, request, most), request)
    asked = Asked(service, caller, {**request.query_params, **body}, request)
    return JSONResponse(await answer(asked))


async def _absent(_: Request) -> Response:
    raise NotHere("memento does not support mem0's profiles, exports, summaries or feedback")


async def _ping(asked: Asked) -> Json:
    place = "/".join(namespace_of(asked.caller, None))  # clients expect a project
    return {"status": "ok", "user_email": None, "org_id": "memento", "project_id": place}


async def _add(asked: Asked) -> Json:
    said = asked.said
    messages = said.get("messages")
    if not isinstance(messages, list):
        raise InvalidInput("messages", "must be a list of messages")
    user, session, actor = (said.get(name) for name in ("user_id", "run_id", "agent_id"))
    if said.get("infer", True):
        seen = await asked.call(user, "observe", messages=messages, session=session, actor=actor)
        kept = [one.memory for one in seen.learned]
    else:
        items = [
            {
                "text": one.get("content"),
                "role": one.get("role"),
                "session": session,
                "actor": actor,
                "metadata": said.get("metadata") or {},
                "tier": "long",
            }
            for one in messages
        ]
        kept = await asked.call(user, "add_many", items=items)
    return {"results": [_shown(one, user) | {"event": "ADD"} for one in kept]}


async def _list(asked: Asked) -> Json:
    user, filters = _filters(asked.said)
    size = min(_whole(asked.said, "page_size", PAGE), PAGE)
    page = _whole(asked.said, "page", 1)
    found = await asked.call(user, "list", limit=size, offset=(page - 1) * size, **filters)
    count = sum((await asked.call(user, "store.counts", by="tier", **filters)).values())
    results = [_shown(one, user) for one in found]
    return {"count": count, "next": None, "previous": None, "results": results}


async def _search(asked: Asked) -> Json:
    user, filters = _filters(asked.said)
    k = _whole(asked.said, "top_k", _whole(asked.said, "limit", 10))
    least = asked.said.get("threshold") or 0.0
    query = asked.said.get("query", "")
    found = await asked.call(user, "retrieve", query=query, k=k, min_score=least, **filters)
    return {"results": [_scored(hit, user) for hit in found]}


async def _get(asked: Asked) -> Json:
    user, name = _named(asked.request.path_params["id"])
    return _shown(await asked.call(user, "get", id=name), user)


async def _update(asked: Asked) -> Json:
    user, name = _named(asked.request.path_params["id"])
    changes = {key: asked.said[key] for key in ("text", "metadata") if asked.said.get(key)}
    return _shown(await asked.call(user, "update", id=name, **changes), user)


async def _delete(asked: Asked) -> Json:
    user, name = _named(asked.request.path_params["id"])
    await asked.call(user, "forget", id=name)
    return {"message": "Memory deleted successfully!"}


async def _history(asked: Asked) -> list[Json]:
    user, name = _named(asked.request.path_params["id"])
    states = await asked.call(user, "changes.history", id=name)
    began = (await asked.call(user, "get", id=name)).created_at
    told = []
    for before, state in pairwise([None, *states]):
        told.append(
            {
                "id": f"{name}.{state.version}",
                "memory_id": asked.request.path_params["id"],
                "old_memory": before and before.text,
                "new_memory": state.text,
                "event": "UPDATE" if before else "ADD",
                "created_at": began.isoformat(),
                "updated_at": (before.until if before else began).isoformat(),
            }
        )
    return told


async def _delete_all(asked: Asked) -> Json:
    user, filters = _filters(asked.said)
    if not any(asked.said.get(name) for name in _WHO):
        raise InvalidInput("user_id", "specify whose memories to delete")
    await asked.call(user, "forget_many", within="", **filters)
    return {"message": "Memories deleted successfully!"}


async def _batch_update(asked: Asked) -> Json:
    for one in (several := _several(asked.said)):
        user, name = _named(str(one.get("memory_id")))
        await asked.call(user, "update", id=name, text=one.get("text"))
    return {"message": f"Successfully updated {len(several)} memories"}


async def _batch_delete(asked: Asked) -> Json:
    for one in (several := _several(asked.said)):
        user, name = _named(str(one.get("memory_id")))
        await asked.call(user, "forget", id=name)
    return {"message": f"Successfully deleted {len(several)} memories"}


def _several(said: Mapping[str, Any]) -> list[Json]:
    """Return the ``memories`` of a batch call."""
    several = said.get("memories")
    if not isinstance(several, list) or not all(isinstance(one, dict) for one in several):
        raise InvalidInput("memories", "must be a list of objects")
    return several


async def _entities(asked: Asked) -> Json:
    """List only the users below the token's namespace."""
    labels, memory = namespace_of(asked.caller, None), asked.service.memory
    every = await asked.service.run(
        asked.caller, "entities", partial(counted, memory, labels), searches=True
    )
    found = [
        {"id": one[-1], "name": one[-1], "type": "user", "total_memories": count}
        for one, count in every.items()
        if one[:-1] == labels
    ]
    return {"count": len(found), "results": found}


async def _delete_entity(asked: Asked) -> Json:
    kind, name = (asked.request.path_params[one] for one in ("type", "name"))
    if kind == "user":
        await asked.call(name, "forget_many", within="")
    else:
        field = {"agent": "actor", "run": "session"}.get(kind)
        if field is None:
            raise InvalidInput("type", "must be user, agent or run")
        await asked.call(None, "forget_many", **{field: name})
    return {"message": "Entity deleted successfully!"}


def _filters(said: Mapping[str, Any]) -> tuple[str | None, Json]:
    """Convert mem0's filters to the user and the filters of the manager."""
    given = said.get("filters") or {name: said[name] for name in _WHO if said.get(name)}
    several = given.get("AND", [given]) if isinstance(given, dict) else None
    if not isinstance(several, list) or not all(isinstance(one, dict) for one in several):
        raise InvalidInput("filters", "must be an object, or AND with a list of objects")
    asked: Json = {}
    for one in several:
        asked |= one
    user = asked.pop("user_id", None)
    if unknown := asked.keys() - _FILTERS.keys():
        known = ", ".join(sorted({"user_id", *_FILTERS}))
        raise InvalidInput("filters", f"{min(unknown)!r:.40} is not one of {known}")
    return user, {_FILTERS[name]: value for name, value in asked.items()}


def _whole(said: Mapping[str, Any], name: str, default: int) -> int:
    try:
        return max(1, int(said.get(name) or default))
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(name, "must be a whole number") from error


def _named(text: str) -> tuple[str | None, str]:
    """Split a mem0 id into the user (or None) and the id of the memory."""
    user, mark, name = text.rpartition(":")
    if not mark:
        raise NotFound(text)
    return unquote(user) or None, name


def _shown(one: Memory, user: str | None) -> Json:
    return {
        "id": f"{quote(user or '', safe='')}:{one.id}",
        "memory": one.text,
        "user_id": user,
        "agent_id": one.actor,
        "run_id": one.session,
        "metadata": dict(one.metadata),
        "categories": [*one.tags],
        "created_at": one.created_at.isoformat(),
        "updated_at": one.updated_at.isoformat(),
    }


def _scored(hit: Hit, user: str | None) -> Json:
    return _shown(hit.memory, user) | {"score": hit.score}
