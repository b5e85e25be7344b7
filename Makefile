# Everything but `check` and `cover` needs nothing but Go. `make` alone lists what there is.

GO          ?= go
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
AXE_CORE    := axe-core@4.10.3
REDOCLY     := @redocly/cli@2.77.0
OAPI_CODEGEN := github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2
TYPESCRIPT  := openapi-typescript@7.10.1 openapi-fetch@0.15.0 typescript@5.9.3
SCHEMATHESIS_VERSION := 4.32.5
LITESTREAM  := github.com/benbjohnson/litestream/cmd/litestream@v0.5.18
ESBUILD     := github.com/evanw/esbuild/cmd/esbuild@v0.28.2
GOFUMPT     := mvdan.cc/gofumpt@v0.12.0
OAUTH2_PROXY := github.com/oauth2-proxy/oauth2-proxy/v7@v7.6.0
FUZZTIME    ?= 60s
# What `make torture` runs at full length in addition to the tests that report of a promise.
LONG        := store/TestKilledInTheMiddleOfACheckpoint store/TestWhatWasAcknowledgedSurvivesKill store/TestCheckpointAmongFaults \
	store/TestPingOnANearlyFullDisk store/TestParallelConfirmsMakeOneEvent worker/TestAFullDiskSendsNothingTwice \
	worker/TestOutboxAfterAnOutage handlers/TestSessionStoreFailure cmd/newsletterd/TestImportUnderLoad \
	store/replica/TestSchedules store/replica/TestKill store/replica/TestSoak cmd/newsletterd/TestSoakOfTheProgram \
	cmd/newsletterd/TestTortureInstallationOfREADME cmd/newsletterd/TestTortureTimesTellNothing
PLATFORMS   ?= $(or $(TARGET),linux/amd64 linux/arm64 darwin/arm64 freebsd/amd64)
NFPM        := github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0
# urfave_cli_no_docs leaves out a manual page writer that nobody calls.
export GOFLAGS := $(GOFLAGS) -tags=urfave_cli_no_docs

.DEFAULT_GOAL := help
.PHONY: help build demo run console test check fmt-check vet staticcheck tidy-check generated gallery pictures pages race bench bench-full bench-pages work litestream schedules torture fuzz golden openapi-lint clients schemathesis cover release clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

build: ## build ./newsletterd
	CGO_ENABLED=0 $(GO) build -trimpath -o newsletterd ./cmd/newsletterd

demo: build ## the whole job in a temporary folder, in under a minute (ARGS=--stay keeps it running)
	./newsletterd demo $(ARGS)

run: build ## run the daemon on 127.0.0.1:8080 (ARGS=… are its flags)
	./newsletterd serve $(ARGS)

console: ## make the scripts of the console anew, of handlers/console/assets/src (needs npm, which brings their libraries)
	CGO_ENABLED=0 $(GO) run handlers/console/assets/bundle.go $(ESBUILD)

test: ## all tests, with nothing but Go
	CGO_ENABLED=0 $(GO) test -parallel 4 ./...

check: fmt-check vet staticcheck tidy-check generated pages race ## what has to hold before a change goes in (needs a C compiler)

fmt-check:
	@out=$$($(GO) run $(GOFUMPT) -l .) && test -z "$$out" || { echo "gofumpt wants to change:"; echo "$$out"; exit 1; }

# Without cgo, as the tests before are built: what they compiled is used again.
vet:
	CGO_ENABLED=0 $(GO) vet ./...

staticcheck:
	CGO_ENABLED=0 $(GO) run $(STATICCHECK) ./...

tidy-check:
	$(GO) mod verify
	$(GO) mod tidy -diff

pictures: ## pictures of every page of the console, light and dark, on a telephone and on a desk, into ./pictures, and of the guide (needs chromium)
	@mkdir -p pictures && CGO_ENABLED=0 NEWSLETTERD_BROWSER=1 SCREENSHOTS=$$PWD/pictures GUIDE=$$PWD/docs/pictures $(GO) test -count=1 -v -run 'TestConsoleWalkInABrowser|TestPicturesOfGuideInABrowser' ./cmd/newsletterd

gallery: ## pictures of newsletters in all themes, into docs/pictures (needs chromium)
	@mkdir -p docs/pictures && CGO_ENABLED=0 NEWSLETTERD_BROWSER=1 GALLERY=$$PWD/docs/pictures $(GO) test -count=1 -v -run TestGalleryInABrowser ./cmd/newsletterd

pages: ## try the pages in a browser, also by way of oauth2-proxy, and look for faults of accessibility (needs chromium and npm; says what it skips)
	@dir=$$(mktemp -d); trap 'rm -rf $$dir' EXIT; \
	if command -v npm >/dev/null && (cd $$dir && npm pack --silent $(AXE_CORE) >/dev/null && tar xzf axe-core-*.tgz package/axe.min.js); then \
		export AXE=$$dir/package/axe.min.js; \
	else \
		echo "SKIPPED: npm does not bring $(AXE_CORE), so nothing looks for faults of accessibility"; \
	fi; \
	if source=$$($(GO) mod download -json $(OAUTH2_PROXY) | sed -n 's/^.*"Dir": "\(.*\)".*/\1/p') && (cd "$$source" && CGO_ENABLED=0 $(GO) build -o $$dir/oauth2-proxy .); then \
		export OAUTH2_PROXY=$$dir/oauth2-proxy; \
	else \
		echo "SKIPPED: $(OAUTH2_PROXY) can't be built here, so nobody signs in through it"; \
	fi; \
	CGO_ENABLED=0 NEWSLETTERD_BROWSER=1 $(GO) test -count=1 -v -run Browser ./cmd/newsletterd

# SQLite is C in Go's clothes and locks for itself, as does the allocator of its memory: looking at each of their accesses would
# take several times as long. Timers of one bubble of testing/synctest share a context of the race detector, which two threads in
# it at once bring down (go1.26): tests in bubbles get one processor. The detector goes by what happens before what, so it finds
# the same there. The packages with most tests begin first, so that none of them runs alone in the end. vet has its own target. A
# program under the detector sleeps for a second before it ends, unless told otherwise, and the tests start hundreds.
race:
	@bubbles=$$(for dir in $$(grep -rl --include='*_test.go' '"testing/synctest"' . | xargs -n1 dirname | sort -u); do \
		echo "$$(cat $$dir/*_test.go | wc -c) $$dir"; done | sort -rn | cut -d ' ' -f 2); \
	others=$$($(GO) list -f '{{.Dir}}' ./... | sed 's,^'"$$PWD"',.,' | grep -vxF "$$bubbles"); \
	export GORACE=atexit_sleep_ms=20; \
	race() { echo "race detector: $$*"; CGO_ENABLED=1 $(GO) test -race -vet=off -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc=-race=false -gcflags=modernc.org/memory=-race=false -shuffle=on -short -timeout 20m "$$@"; }; \
	race $$others && race -cpu 1 -parallel 4 $$bubbles

# Golden files are written anew into the working copy; it fails if git sees a difference that was not there before.
generated: WRITTEN := testdata '*/testdata' schema/whole.sql
generated:
	@before=$$(git status --porcelain -- $(WRITTEN) | sort; git diff -- $(WRITTEN) | sha256sum); \
	$(MAKE) --no-print-directory golden >/dev/null; \
	after=$$(git status --porcelain -- $(WRITTEN) | sort; git diff -- $(WRITTEN) | sha256sum); \
	test "$$before" = "$$after" || { echo "golden files are not up to date (now they are: look at git diff)"; exit 1; }

# The lines of the figures alone, as they come, and the exit status of go test, which that of grep would hide.
figures = exec 4>&1; status=$$({ { CGO_ENABLED=0 $(GO) test -run '$(1)' -count=1 -timeout $(2) -v ./cmd/newsletterd; echo $$? >&3; } | \
	grep -v -e '^=== ' -e '^--- PASS' >&4; } 3>&1); exit $$status

bench: ## figures of the program itself on this machine, its mails going to a sink in another process; then of models
	@export NEWSLETTERD_FIGURES=$(or $(RECIPIENTS),100000); $(call figures,TestFigures,30m)

bench-full: ## figures of the send path and of lists with 1,000,000 subscribers (some minutes, 4 GB of disk)
	@export NEWSLETTERD_FIGURES=$(or $(RECIPIENTS),1000000); $(call figures,TestFiguresOfSending|TestFiguresOfALongList|TestFiguresOfImports,60m)

bench-pages: ## figures of every list of the admin API: 1,000,000 subscribers, 1,000 tenants, first page and page 10,000
	@export NEWSLETTERD_FIGURES=$(or $(RECIPIENTS),1000000); $(call figures,TestFiguresOf(Pages|Archives),30m)

# The tests that report of a promise, of PROMISE alone if it is given: a line "folder/Test" for each. A test says what it
# reports of by its call of coretest.Held or coretest.Promise; another test holds the form of these calls.
reports = find . -name '*_test.go' | sed 's,^\./,,' | sort | xargs awk -v promise='$(PROMISE)' ' \
	/^func / { test = $$2; sub(/\(.*/, "", test) } \
	match($$0, /coretest\.(Held|Promise)\(t, [0-9]+,/) { split(substr($$0, RSTART, RLENGTH), part, /[ ,]+/); \
		if (promise == "" || part[2] == promise) { dir = FILENAME; sub("/[^/]*$$", "", dir); print dir "/" test } }'

work: ## CPU that decoders and parsers take for the worst of the largest inputs, and how it grows (5 minutes); fails over 2 s or 2.2 times
	@out=$$(mktemp); trap 'rm -f $$out' EXIT; CGO_ENABLED=0 NEWSLETTERD_WORK=1 $(GO) test -count=1 -p 1 -timeout 30m -v -run TestWorkOf \
		./mail/... ./store/subscribercsv ./handlers/web ./cmd/newsletterd/frontmatter > $$out; status=$$?; \
	grep -e '^| ' -e ' CPU$$' -e '^FAIL' $$out | sort; exit $$status

litestream: ## restore replicas with the original program, which is built for it (some minutes the first time; says what it skips)
	@dir=$$(mktemp -d); trap 'rm -rf $$dir' EXIT; \
	GOFLAGS= CGO_ENABLED=0 GOBIN=$$dir $(GO) install $(LITESTREAM) || \
		{ echo "SKIPPED: $(LITESTREAM) can't be built here, so it restores nothing"; exit 0; }; \
	CGO_ENABLED=0 LITESTREAM=$$dir/litestream $(GO) test -count=1 -v -run StockLitestream ./store/replica

schedules: ## machines of a replica through 200 random schedules of kills, freezes, lost disks and faults of the storage (SCHEDULES=… and SCHEDULE_SEED=… run others)
	@export SCHEDULES=$(or $(SCHEDULES),200) SCHEDULE_SEED=$(SCHEDULE_SEED); \
	CGO_ENABLED=0 $(GO) test -count=1 -timeout 60m -v -run TestSchedules ./store/replica

torture: ## put every promise to the test at full length (200 kills -9, strace, full disks, hostile clients …) and print the table; PROMISE=4 tries that one alone
	@ledger=$$(mktemp); trap 'rm -f $$ledger $$ledger.out' EXIT; failed=0; \
	export CGO_ENABLED=0 NEWSLETTERD_TORTURE=1 NEWSLETTERD_PROMISES=$$ledger NEWSLETTERD_PROMISE=$(PROMISE); \
	tests=$$({ $(reports)$(if $(PROMISE),,; printf '%s\n' $(LONG)); } | sort -u); \
	test -n "$$tests" || { echo "no test reports of promise $(PROMISE)"; exit 1; }; \
	for pkg in store store/replica auth worker handlers cmd/newsletterd; do \
		chosen=$$(echo "$$tests" | sed -n "s,^$$pkg/\(Test[^/]*\)\$$,\1,p" | paste -sd '|' -); \
		test -n "$$chosen" || continue; \
		case $$pkg in \
		cmd/*) $(GO) test -run "^($$chosen)\$$" -count=1 -timeout 60m -v ./$$pkg > $$ledger.out || failed=1; grep -v '^=== ' $$ledger.out;; \
		*) $(GO) test -run "^($$chosen)\$$" -count=1 -timeout 30m ./$$pkg || failed=1;; \
		esac; \
	done; \
	$(GO) test -run TestPromiseTable -count=1 -v ./cmd/newsletterd > $$ledger.out || failed=1; grep -v '^=== ' $$ledger.out; \
	exit $$failed

fuzz: ## every fuzz target for FUZZTIME (60s)
	@for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "== $$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
		done; \
	done

# The tests that write golden files.
GOLDEN      := Golden|Frozen|Compose$$|OpenAPIDocuments|Scenarios|ProviderPayloads

golden: ## write the golden files anew (look at git diff afterwards)
	@for dir in $$(grep -rlE --include='*_test.go' 'flag\.Bool\("update"' . | xargs -r -n1 dirname | sort -u); do \
		CGO_ENABLED=0 $(GO) test -count=1 -run '$(GOLDEN)' $$dir -update || exit 1; \
	done

# The address of an archive ends with a slash, so that those of its issues and its feed lie within it.
openapi-lint: ## the OpenAPI documents, looked at by redocly (needs Node.js; without it that is said)
	@command -v npx >/dev/null || { echo "openapi-lint: not done, there is no Node.js"; exit 0; }; \
	npx --yes $(REDOCLY) lint --extends=recommended --skip-rule=no-path-trailing-slash testdata/openapi/*.json

clients: ## programs on clients that generators make of the OpenAPI documents, run against a daemon (the one in TypeScript needs npm; says what it skips)
	@dir=$$(mktemp -d); trap 'rm -rf $$dir' EXIT; \
	if command -v npm >/dev/null && (cd $$dir && npm install --silent --no-audit --no-fund $(TYPESCRIPT)); then \
		export NODE_MODULES=$$dir/node_modules; \
	else \
		echo "SKIPPED: npm does not bring $(TYPESCRIPT), so no client in TypeScript is made"; \
	fi; \
	CGO_ENABLED=0 OAPI_CODEGEN=$(OAPI_CODEGEN) $(GO) test -count=1 -v -run GeneratedClients ./cmd/newsletterd

# What is made up are also addresses of relays, webhooks and links, so the daemon runs in a network that has nothing but loopback.
schemathesis: ## requests of all kinds that schemathesis makes of the OpenAPI documents, to a daemon: no answer that they don't tell (needs Python and Linux; says what it skips; SCHEMATHESIS_ARGS="--seed 2 --max-examples 50" does more)
	@dir=$$(mktemp -d); trap 'rm -rf $$dir' EXIT; \
	unshare -rn ip link set lo up || { echo "SKIPPED: there is no network apart (unshare -rn, ip), so no requests are made of the documents"; exit 0; }; \
	if [ -z "$$SCHEMATHESIS" ]; then \
		python3 -m venv $$dir/venv && $$dir/venv/bin/pip install --quiet schemathesis==$(SCHEMATHESIS_VERSION) || \
			{ echo "SKIPPED: pip does not bring schemathesis, so no requests are made of the documents"; exit 0; }; \
		export SCHEMATHESIS=$$dir/venv/bin/schemathesis; \
	fi; \
	CGO_ENABLED=0 $(GO) test -c -o $$dir/trial ./cmd/newsletterd && cd cmd/newsletterd && \
	unshare -rn sh -c "ip link set lo up && exec $$dir/trial -test.v -test.timeout 60m -test.run TestSchemathesis"

# Programs that the tests start are counted, too, but for those that they kill. go test sets GOCOVERDIR to a folder of its own,
# so it is set behind it. Helpers of the tests are left out.
cover: ## coverage of the tests and of the programs they start, by package and in coverage.html; fails below what is promised
	@dir=$$(mktemp -d); trap 'rm -rf $$dir' EXIT; export CGO_ENABLED=0; failed=0; \
	$(GO) test -count=1 -exec "env GOCOVERDIR=$$dir" -coverpkg=./... ./... -args -test.gocoverdir=$$dir || failed=1; \
	$(GO) tool covdata textfmt -i=$$dir -o $$dir/all && grep -vE '^newsletterd/[a-z/]+(test|storetest/faults)/' $$dir/all > coverage.out || exit 1; \
	$(GO) tool cover -html=coverage.out -o coverage.html; \
	awk -F '[: ]' 'function count(p) { if (!(p in all)) { name[++n] = p } all[p] += $$(NF-1); if ($$NF > 0) { hit[p] += $$(NF-1) } } \
		NR > 1 { sub("/[^/]*$$", "", $$1); count($$1); total += $$(NF-1); reached += $$NF > 0 ? $$(NF-1) : 0 } \
		function say(p, hit, all, least) { low += 100 * hit < least * all; printf "%-26s %5.1f %% of %5d statements%s\n", p, 100 * hit / all, all, least ? " (at least " least " %)" : "" } \
		END { for (i = 1; i <= n; i++) { p = name[i]; say(p, hit[p], all[p], p ~ "/(auth|core|worker)$$" ? 95 : 0) } say("all", reached, total, 85); exit low > 0 }' coverage.out || failed=1; \
	exit $$failed

release: ## static binaries, .deb, .rpm and checksums in dist/, each binary built twice (the second time from nothing) and compared; takes some minutes (TARGET=linux/amd64 makes one)
	@rm -rf dist && mkdir -p dist/again
	@version=$$(git describe --tags --always --dirty 2>/dev/null || echo devel); cache=$$(mktemp -d); trap 'chmod -R u+w $$cache; rm -rf $$cache' EXIT; \
	build() { CGO_ENABLED=0 GOOS=$${1%/*} GOARCH=$${1#*/} $(GO) build -trimpath -ldflags "-s -w -X main.release=$$version" -o "$$2" ./cmd/newsletterd; }; \
	for platform in $(PLATFORMS); do \
		name=newsletterd-$$version-$$(echo $$platform | tr / -); \
		build $$platform dist/$$name || exit 1; \
		( export GOCACHE=$$cache; build $$platform dist/again/$$name ) || exit 1; \
		cmp dist/$$name dist/again/$$name || { echo "two builds of $$name differ"; exit 1; }; \
		echo "dist/$$name"; \
		test $${platform%/*} = linux || continue; \
		number=$$(git describe --tags --match 'v[0-9]*' 2>/dev/null || echo 0.0.0+$$version); \
		for kind in deb rpm; do \
			VERSION=$${number#v} ARCH=$${platform#*/} BINARY=dist/$$name $(GO) run $(NFPM) package -f cmd/newsletterd/package/nfpm.yaml -p $$kind -t dist/ || exit 1; \
		done; \
	done
	@rm -rf dist/again
	@cd dist && sha256sum newsletterd[-_]* > SHA256SUMS && cat SHA256SUMS

clean: ## remove what was built
	rm -rf newsletterd dist coverage.out coverage.html
