"""Hooks of schemathesis for `make schemathesis`: who calls, which records requests name, and which refusals the
document tells.

RECORDS names a file that the test writes: ids of records by path and by field, and who calls. RESULT names the file that
gets what came of it.
"""

import atexit
import collections
import hashlib
import hmac
import json
import os
import random
import re
import secrets
import threading
import time
import urllib.parse
import urllib.request

import requests
import schemathesis

with open(os.environ["RECORDS"]) as f:
    WORLD = json.load(f)
LOCK = threading.Lock()
CHOICE = random.Random(1)
KEY = bytes(32)  # of webhooks that the test has made


class Caller(requests.auth.AuthBase):
    """Signs in every ten minutes, as operations that ask for a fresh sign-in need it, and signs webhooks."""

    until = 0
    token = ""

    def __call__(self, r):
        path, at = urllib.parse.urlsplit(r.url).path, str(int(time.time()))
        body = r.body or b""
        if isinstance(body, str):
            body = body.encode()
        if path in ("/webhooks/subscriptions", "/webhooks/lists/full-sync"):
            nonce, client = secrets.token_urlsafe(16), WORLD["webhook_client"]
            text = "\n".join(["v1", "POST", path, client, at, nonce, hashlib.sha256(body).hexdigest()])
            mac = hmac.new(KEY, text.encode(), hashlib.sha256).hexdigest()
            r.headers.update({"X-Client-Id": client, "X-Timestamp": at, "X-Nonce": nonce, "X-Signature": "v1=" + mac})
        elif path.startswith("/webhooks/"):
            mac = hmac.new(KEY, at.encode() + b"." + body, hashlib.sha256).hexdigest()
            r.headers["X-Mailprovider-Sns-Signature"] = f"t={at},v1={mac}"
        elif WORLD["user"]:
            r.headers["Authorization"] = "Bearer " + self.signed_in()
        return r

    def signed_in(self):
        with LOCK:
            if time.time() > self.until:
                form = {"grant_type": "password", "username": WORLD["user"], "password": WORLD["password"]}
                body = urllib.parse.urlencode(form).encode()
                with urllib.request.urlopen(WORLD["origin"] + "/api/auth/login", body) as answer:
                    self.token = json.load(answer)["access_token"]
                self.until = time.time() + 600
            return self.token


schemathesis.auth.set_from_requests(Caller())
ANSWERS = collections.Counter()  # by operation and status
TOLD = collections.Counter()  # refusals that the document tells, by status and error
FINDINGS = []


@atexit.register
def write():
    with open(os.environ["RESULT"], "w") as f:
        json.dump({
            "operations": len({operation for operation, _ in ANSWERS}), "requests": sum(ANSWERS.values()),
            "server_errors": sum(n for (_, status), n in ANSWERS.items() if status >= 500),
            "told": {f"{status} {error}".strip(): n for (status, error), n in sorted(TOLD.items())}, "findings": FINDINGS,
        }, f)


def record(tenant, path):
    """Returns the id of a record of a tenant, by what stands before it in a path; None where there is none."""
    path = re.sub(r"\{\w+\}", ":id", path)
    for key, ids in WORLD["tenants"][tenant]["paths"].items():
        if key in (path, "/api" + path):
            return ids[0] if CHOICE.random() < 0.6 else CHOICE.choice(ids)
    return None


def named(tenant, value, key=""):
    """Returns a value with ids of records of a tenant in the fields that name some."""
    fields = WORLD["tenants"][tenant]["fields"]
    if isinstance(value, dict):
        return {k: named(tenant, v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [named(tenant, v, key.removesuffix("s")) for v in value]
    if isinstance(value, str) and value and key in fields and CHOICE.random() < 0.8:
        return CHOICE.choice(fields[key])
    return value


@schemathesis.hook
def before_call(context, case, **kwargs):
    tenant = CHOICE.randrange(len(WORLD["tenants"]))
    template = case.operation.path
    for name in list(case.path_parameters or {}):
        if CHOICE.random() < 0.95:
            before = template[: template.index("{" + name + "}")].rstrip("/")
            if (id_of := record(tenant, before)) is not None:
                case.path_parameters[name] = id_of
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    if isinstance(case.body, (dict, list)):
        case.body = named(tenant, case.body)
    if case.query:
        for name, value in list(case.query.items()):
            case.query[name] = named(tenant, value, name)


@schemathesis.hook
def after_call(context, case, response):
    with LOCK:
        ANSWERS[case.operation.label, response.status_code] += 1


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Keeps what the document does not tell: every failure but a refusal that the operation's x-refusals lists."""
    try:
        answer = response.json()
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        answer = {}
    error = answer.get("error", "")
    field = re.sub(r"\[\d+\]", "[]", answer.get("field") or answer.get("reason") or "")
    refusal = (response.status_code, error, field)
    listed = {(r["status"], r["error"], r.get("field", "")) for r in case.operation.definition.raw.get("x-refusals", [])}
    told = type(failure).__name__ == "RejectedPositiveData" and refusal in listed
    with LOCK:
        if told:
            TOLD[response.status_code, error] += 1
        else:
            FINDINGS.append({
                "kind": type(failure).__name__, "operation": case.operation.label, "status": response.status_code,
                "error": error, "field": field, "message": answer.get("message", str(failure)[:500]),
                "path": case.formatted_path, "query": repr(case.query)[:500], "body": repr(case.body)[:1500],
            })
    return not told
