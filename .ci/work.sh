#!/bin/sh
# make work: the CPU that decoders and parsers take, as a table.
out=$(mktemp)
trap 'rm -f $out' EXIT
CGO_ENABLED=0 NEWSLETTERD_WORK=1 $GO test -count=1 -p 1 -timeout 30m -v -run TestWorkOf \
	./mail/... ./store/subscribercsv ./handlers/web ./cmd/newsletterd/frontmatter > $out
status=$?
grep -e '^| ' -e ' CPU$' -e '^FAIL' $out | sort
exit $status
