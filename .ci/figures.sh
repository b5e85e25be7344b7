#!/bin/sh
# make bench, bench-full and bench-pages: figures.sh RECIPIENTS TIMEOUT TESTS prints the figures as they come. It keeps the
# exit status of go test, which a pipe into grep would hide.
export NEWSLETTERD_FIGURES=$1
exec 4>&1
status=$({ { CGO_ENABLED=0 $GO test -run "$3" -count=1 -timeout $2 -p 1 -v ./cmd/newsletterd ./store/audience; echo $? >&3; } |
	grep -v -e '^=== ' -e '^--- PASS' >&4; } 3>&1)
exit $status
