#!/bin/sh
# make work: the CPU that decoders and parsers take, and what a daemon computes for clients that have gone, as a table.
out=$(mktemp)
trap 'rm -f $out' EXIT
CGO_ENABLED=0 NEWSLETTERD_WORK=1 $GO test -count=1 -p 1 -timeout 30m -v -run TestWorkOf \
	./core ./auth ./mail/... ./store/subscribercsv ./store/replica/objects ./handlers/web ./cmd/newsletterd/frontmatter \
	./cmd/newsletterd > $out
status=$?
grep -e '^| ' -e ' CPU$' -e '^FAIL' $out | sort
exit $status
