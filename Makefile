# `make` lists the targets. Targets of more than a few lines are scripts in .ci, which need the environment set here.

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
PLATFORMS   ?= $(or $(TARGET),linux/amd64 linux/arm64 darwin/arm64 freebsd/amd64)
NFPM        := github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0
LARGEST     := ./worker ./cmd/newsletterd ./handlers ./store ./store/replica # first, so that none of them runs alone at the end
# urfave_cli_no_docs leaves out a manual page writer that nobody calls.
export GOFLAGS := $(GOFLAGS) -tags=urfave_cli_no_docs
export GO

.DEFAULT_GOAL := help
.PHONY: help build demo run console test check fmt-check vet staticcheck tidy-check generated gallery pictures pages race proxies bench bench-full bench-pages work litestream schedules torture fuzz golden openapi-lint clients schemathesis cover release clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

build: ## build ./newsletterd
	CGO_ENABLED=0 $(GO) build -trimpath -o newsletterd ./cmd/newsletterd

demo: build ## run the whole product once in a temporary folder, in under a minute (ARGS=--stay keeps it running)
	./newsletterd demo $(ARGS)

run: build ## run the daemon on 127.0.0.1:8080 (ARGS=… adds flags)
	./newsletterd serve $(ARGS)

console: ## bundle the console's scripts from handlers/console/assets/src (needs npm)
	CGO_ENABLED=0 $(GO) run handlers/console/assets/bundle.go $(ESBUILD)

test: ## run all tests; needs nothing but Go
	CGO_ENABLED=0 $(GO) test -vet=off -timeout 30m -p 3 -parallel 4 $(LARGEST) ./...

check: fmt-check vet staticcheck tidy-check generated pages race ## run what a change must pass (needs a C compiler)

fmt-check:
	@out=$$($(GO) run $(GOFUMPT) -l .) && test -z "$$out" || { echo "gofumpt wants to change:"; echo "$$out"; exit 1; }

# Without cgo, as the tests are built, so that vet reuses what they compiled.
vet:
	CGO_ENABLED=0 $(GO) vet ./...

staticcheck:
	CGO_ENABLED=0 $(GO) run $(STATICCHECK) ./...

tidy-check:
	$(GO) mod verify
	$(GO) mod tidy -diff

pictures: ## take screenshots of every console page into ./pictures, and those of the guide (needs chromium)
	@mkdir -p pictures && CGO_ENABLED=0 NEWSLETTERD_BROWSER=1 SCREENSHOTS=$$PWD/pictures GUIDE=$$PWD/docs/pictures $(GO) test -count=1 -v -run 'TestConsoleWalkInABrowser|TestPicturesOfGuideInABrowser' ./cmd/newsletterd

gallery: ## take pictures of newsletters in all themes into docs/pictures (needs chromium)
	@mkdir -p docs/pictures && CGO_ENABLED=0 NEWSLETTERD_BROWSER=1 GALLERY=$$PWD/docs/pictures $(GO) test -count=1 -v -run TestGalleryInABrowser ./cmd/newsletterd

pages: ## test the pages in a browser: accessibility, sign-in through oauth2-proxy (needs chromium and npm; says what it skips)
	@.ci/pages.sh $(AXE_CORE) $(OAUTH2_PROXY)

race:
	@.ci/race.sh
proxies: ## test nginx and Caddy in front of a daemon, as docs/proxy.md configures them (says what it skips)
	@.ci/proxies.sh

generated:
	@.ci/golden.sh check
bench: ## measure the program on this machine; emails go to a sink in another process (RECIPIENTS=100000)
	@.ci/figures.sh $(or $(RECIPIENTS),100000) 30m TestFigures

bench-full: ## measure sending and long lists with 1,000,000 subscribers (some minutes, 4 GB of disk)
	@.ci/figures.sh $(or $(RECIPIENTS),1000000) 60m 'TestFiguresOfSending|TestFiguresOfALongList|TestFiguresOfImports'

bench-pages: ## measure every list of the admin API with 1,000,000 subscribers and 1,000 tenants, first page and page 10,000, and all that anyone may ask for
	@.ci/figures.sh $(or $(RECIPIENTS),1000000) 30m 'TestFiguresOf(Pages|Archives|Anonymous)'

work: ## measure the CPU that parsers take for the worst of the largest inputs (10 minutes); fails above 2 s or growth of 2.2 times
	@.ci/work.sh

litestream: ## restore replicas with the original Litestream, which it builds (some minutes the first time; says what it skips)
	@.ci/litestream.sh $(LITESTREAM)

schedules: ## run machines of a replica through 200 random schedules of crashes and faults (SCHEDULES=… and SCHEDULE_SEED=… run others)
	@export SCHEDULES=$(or $(SCHEDULES),200) SCHEDULE_SEED=$(SCHEDULE_SEED); \
	CGO_ENABLED=0 $(GO) test -count=1 -timeout 60m -v -run TestSchedules ./store/replica

torture: ## test every promise at full length and print the table (200 kills -9, strace, full disks …); PROMISE=4 tests that one
	@.ci/torture.sh $(PROMISE)

fuzz: ## run every fuzz target for FUZZTIME (60s)
	@.ci/fuzz.sh $(FUZZTIME)

golden: ## write the golden files again; read git diff afterwards
	@.ci/golden.sh

openapi-lint: ## check the OpenAPI documents with redocly (needs Node.js; says if it is missing)
	@command -v npx >/dev/null || { echo "openapi-lint: skipped, Node.js is missing"; exit 0; }; \
	npx --yes $(REDOCLY) lint --extends=recommended --skip-rule=no-path-trailing-slash testdata/openapi/*.json

clients: ## generate API clients in Go and TypeScript and run them against a daemon (TypeScript needs npm; says what it skips)
	@.ci/clients.sh $(OAPI_CODEGEN) $(TYPESCRIPT)

schemathesis: ## send generated requests to a daemon and compare the replies with the OpenAPI documents (needs Python and Linux; says what it skips; SCHEMATHESIS_ARGS="--seed 2 --max-examples 50" sends more)
	@.ci/schemathesis.sh $(SCHEMATHESIS_VERSION)

cover: ## measure coverage by package, into coverage.html; fails below the promised minimum
	@.ci/cover.sh

release: ## build static binaries, packages and checksums in dist/, each binary twice to compare (some minutes; TARGET=linux/amd64 builds one)
	@NFPM=$(NFPM) .ci/release.sh $(PLATFORMS)

clean: ## remove what was built
	rm -rf newsletterd dist coverage.out coverage.html
