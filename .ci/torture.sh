#!/bin/sh
# make torture: the tests of every promise at full length, then the table of what they report.
# torture.sh NUMBER runs the tests of that promise alone.
promise=$1
# Tests that run at full length in addition to those that report on a promise.
long="store/db/TestKilledInTheMiddleOfACheckpoint store/TestWhatWasAcknowledgedSurvivesKill store/db/TestCheckpointAmongFaults
	store/db/TestPingOnANearlyFullDisk store/TestParallelConfirmsMakeOneEvent worker/TestAFullDiskSendsNothingTwice
	worker/TestOutboxAfterAnOutage handlers/TestSessionStoreFailure cmd/newsletterd/TestImportUnderLoad
	store/replica/TestSchedules store/replica/TestKill store/replica/TestSoak cmd/newsletterd/TestSoakOfTheProgram
	cmd/newsletterd/TestTortureInstallation cmd/newsletterd/TestTortureTimesTellNothing
	store/audience/TestRandomRules handlers/TestSameEverywhere cmd/newsletterd/TestKillDuringASendToASegment"

# Prints "folder/Test" for each test that reports on the promise, or on any promise. A test reports by calling
# coretest.Held or coretest.Promise; TestTortureRunsWhatReports checks the form of these calls.
reports() {
	find . -name '*_test.go' | sed 's,^\./,,' | sort | xargs awk -v promise="$promise" '
		/^func / { test = $2; sub(/\(.*/, "", test) }
		match($0, /coretest\.(Held|Promise)\(t, [0-9]+,/) { split(substr($0, RSTART, RLENGTH), part, /[ ,]+/)
			if (promise == "" || part[2] == promise) { dir = FILENAME; sub("/[^/]*$", "", dir); print dir "/" test } }'
}

ledger=$(mktemp)
trap 'rm -f $ledger $ledger.out' EXIT
export CGO_ENABLED=0 NEWSLETTERD_TORTURE=1 NEWSLETTERD_PROMISES=$ledger NEWSLETTERD_PROMISE=$promise
tests=$({ reports; test -n "$promise" || printf '%s\n' $long; } | sort -u)
test -n "$tests" || { echo "no test reports on promise $promise"; exit 1; }
failed=0
for pkg in store store/audience store/db store/replica auth worker handlers cmd/newsletterd; do
	chosen=$(echo "$tests" | sed -n "s,^$pkg/\(Test[^/]*\)\$,\1,p" | paste -sd '|' -)
	test -n "$chosen" || continue
	case $pkg in
	cmd/*) $GO test -run "^($chosen)\$" -count=1 -timeout 60m -v ./$pkg > $ledger.out || failed=1; grep -v '^=== ' $ledger.out;;
	*) $GO test -run "^($chosen)\$" -count=1 -timeout 30m ./$pkg || failed=1;;
	esac
done
$GO test -run TestPromiseTable -count=1 -v ./cmd/newsletterd > $ledger.out || failed=1
grep -v '^=== ' $ledger.out
exit $failed
