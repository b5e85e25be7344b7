# Everything but `check` and `cover` needs nothing but Go. `make` alone lists what there is.

GO          ?= go
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOFUMPT     := mvdan.cc/gofumpt@v0.12.0
FUZZTIME    ?= 60s
PLATFORMS   ?= linux/amd64 linux/arm64 darwin/arm64 freebsd/amd64
# urfave_cli_no_docs leaves out a manual page writer that nobody calls.
export GOFLAGS := $(GOFLAGS) -tags=urfave_cli_no_docs

.DEFAULT_GOAL := help
.PHONY: help build demo run test check fmt-check vet staticcheck tidy-check generated race bench torture fuzz golden cover release clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

build: ## build ./newsletterd
	CGO_ENABLED=0 $(GO) build -trimpath -o newsletterd ./cmd/newsletterd

demo: build ## the whole job in a temporary folder, in under a minute (ARGS=--stay keeps it running)
	./newsletterd demo $(ARGS)

run: build ## run the daemon on 127.0.0.1:8080 (ARGS=… are its flags)
	./newsletterd serve $(ARGS)

test: ## all tests, with nothing but Go
	CGO_ENABLED=0 $(GO) test ./...

check: fmt-check vet staticcheck tidy-check generated race ## what has to hold before a change goes in (needs a C compiler)

fmt-check:
	@out=$$($(GO) run $(GOFUMPT) -l .) && test -z "$$out" || { echo "gofumpt wants to change:"; echo "$$out"; exit 1; }

vet:
	$(GO) vet ./...

staticcheck:
	$(GO) run $(STATICCHECK) ./...

tidy-check:
	$(GO) mod verify
	$(GO) mod tidy -diff

race:
	CGO_ENABLED=1 $(GO) test -race -shuffle=on ./...

# Golden files are written anew into the working copy; it fails if git sees a difference that was not there before.
generated:
	@before=$$(git status --porcelain -- testdata '*/testdata' | sort; git diff -- testdata '*/testdata' | sha256sum); \
	$(MAKE) --no-print-directory golden >/dev/null; \
	after=$$(git status --porcelain -- testdata '*/testdata' | sort; git diff -- testdata '*/testdata' | sha256sum); \
	test "$$before" = "$$after" || { echo "golden files are not up to date (now they are: look at git diff)"; exit 1; }

bench: ## figures of the program itself on this machine, its mails going to a sink in another process; then of models
	CGO_ENABLED=0 NEWSLETTERD_FIGURES=$(or $(RECIPIENTS),100000) $(GO) test -run TestFigures -count=1 -timeout 30m -v ./cmd/newsletterd | grep -v -e '^=== ' -e '^--- '

torture: ## kill -9 ten times in the middle of a job and count at an SMTP server; import and stop under load; compare the times of answers
	CGO_ENABLED=0 NEWSLETTERD_TORTURE=1 $(GO) test -run 'InTheMiddle|Beside|UnderLoad|Torture' -count=1 -timeout 30m -v ./cmd/newsletterd

fuzz: ## every fuzz target for FUZZTIME (60s)
	@for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "== $$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
		done; \
	done

golden: ## write the golden files anew (look at git diff afterwards)
	@for dir in $$(grep -rlE --include='*_test.go' 'flag\.Bool\("update"' . | xargs -r -n1 dirname | sort -u); do \
		CGO_ENABLED=0 $(GO) test -count=1 $$dir -update || exit 1; \
	done

cover: ## coverage of the tests, by function and in coverage.html
	CGO_ENABLED=0 $(GO) test -coverpkg=./... -coverprofile=coverage.out ./...
	$(GO) tool cover -html=coverage.out -o coverage.html
	$(GO) tool cover -func=coverage.out | tail -1

release: ## static binaries and checksums in dist/, each built twice (the second time from nothing) and compared
	@rm -rf dist && mkdir -p dist/again
	@version=$$(git describe --tags --always --dirty 2>/dev/null || echo devel); cache=$$(mktemp -d); trap 'chmod -R u+w $$cache; rm -rf $$cache' EXIT; \
	build() { CGO_ENABLED=0 GOOS=$${1%/*} GOARCH=$${1#*/} $(GO) build -trimpath -ldflags "-s -w -X main.release=$$version" -o "$$2" ./cmd/newsletterd; }; \
	for platform in $(PLATFORMS); do \
		name=newsletterd-$$version-$$(echo $$platform | tr / -); \
		build $$platform dist/$$name || exit 1; \
		( export GOCACHE=$$cache; build $$platform dist/again/$$name ) || exit 1; \
		cmp dist/$$name dist/again/$$name || { echo "two builds of $$name differ"; exit 1; }; \
		echo "dist/$$name"; \
	done
	@rm -rf dist/again
	@cd dist && sha256sum newsletterd-* > SHA256SUMS && cat SHA256SUMS

clean: ## remove what was built
	rm -rf newsletterd dist coverage.out coverage.html
