#!/bin/sh
# make schemathesis: requests that schemathesis generates from the OpenAPI documents. The argument is its version; SCHEMATHESIS
# names an installed one. The requests hold made-up addresses of relays, webhooks and links, so the daemon runs in a network
# namespace that has loopback alone. It says what it skips.
version=$1
dir=$(mktemp -d)
trap 'rm -rf $dir' EXIT
unshare -rn ip link set lo up ||
	{ echo "SKIPPED: there is no network namespace here (unshare -rn, ip), so no requests are made"; exit 0; }
if [ -z "$SCHEMATHESIS" ]; then
	python3 -m venv $dir/venv && $dir/venv/bin/pip install --quiet schemathesis==$version ||
		{ echo "SKIPPED: pip does not bring schemathesis, so no requests are made"; exit 0; }
	export SCHEMATHESIS=$dir/venv/bin/schemathesis
fi
CGO_ENABLED=0 $GO test -c -o $dir/trial ./cmd/newsletterd && cd cmd/newsletterd &&
	unshare -rn sh -c "ip link set lo up && exec $dir/trial -test.v -test.timeout 60m -test.run TestSchemathesis"
