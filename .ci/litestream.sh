#!/bin/sh
# make litestream: restores replicas with the original Litestream. The argument is its module. If it can't be built here,
# the script says so.
dir=$(mktemp -d)
trap 'rm -rf $dir' EXIT
GOFLAGS= CGO_ENABLED=0 GOBIN=$dir $GO install $1 ||
	{ echo "SKIPPED: $1 can't be built here, so it restores nothing"; exit 0; }
CGO_ENABLED=0 LITESTREAM=$dir/litestream $GO test -count=1 -v -run StockLitestream ./store/replica
