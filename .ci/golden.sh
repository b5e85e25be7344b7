#!/bin/sh
# make golden: writes the golden files again. make generated ("golden.sh check") also fails if git sees a difference that
# was not there before.
written="testdata */testdata schema/whole.sql"
tests='Golden|Frozen|Compose$|OpenAPIDocuments|Scenarios|ProviderPayloads' # they write golden files

write() {
	for dir in $(grep -rlE --include='*_test.go' 'flag\.Bool\("update"' . | xargs -r -n1 dirname | sort -u); do
		CGO_ENABLED=0 $GO test -count=1 -run "$tests" $dir -update || return 1
	done
}
state() (
	set -f # git gets the patterns as they are
	git status --porcelain -- $written | sort
	git diff -- $written | sha256sum
)

test "$1" = check || { write; exit; }
before=$(state)
write >/dev/null
test "$before" = "$(state)" || { echo "golden files are not up to date (now they are: look at git diff)"; exit 1; }
