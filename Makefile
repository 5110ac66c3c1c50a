# Everything a developer does, by name; `make` alone lists it.
# demo and test need nothing but Go, git and make.

GO      ?= go
BIN     := bin
CMDS    := juju jujud machine-agent unit-agent hook-tool
CHARMS  := keyvalue webpage
TESTS   ?= ./...

.DEFAULT_GOAL := help
.PHONY: help build charms demo demo-down test race check lint bench soak docs

help: ## show what there is
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-10s %s\n", $$1, $$2}' Makefile

build: ## build the programs into bin/
	@mkdir -p $(BIN)
	CGO_ENABLED=0 $(GO) build -trimpath -o $(BIN)/ $(addprefix ./cmd/,$(CMDS))

charms: ## build the programs of the example charms
	@for c in $(CHARMS); do \
		CGO_ENABLED=0 $(GO) build -trimpath -o doc/examples/charms/$$c/bin/$$c ./doc/examples/charms/$$c/src || exit 1; \
	done

demo: build charms ## bootstrap, deploy two related services, show them
	@doc/examples/demo.sh up

demo-down: ## end the demo and remove all it made
	@doc/examples/demo.sh down

test: ## run all tests
	CGO_ENABLED=0 $(GO) test -vet=off -timeout 20m $(TESTS)

race: ## run the tests in short sizes under the race detector (needs a C compiler)
	@command -v $${CC:-cc} >/dev/null || command -v gcc >/dev/null || { \
		echo "make race: the race detector needs a C compiler; install gcc, or set CC"; exit 1; }
	CGO_ENABLED=1 $(GO) test -race -short -vet=off -timeout 30m $(TESTS)

check: lint test ## what must pass before a commit

lint: ## formatting and vet
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not formatted (run gofmt -w):"; echo "$$unformatted"; exit 1; fi
	$(GO) vet -composites=false ./... # bson.D{{"name", value}} is how mgo is written

bench: ## run the benchmarks
	$(GO) test -vet=off -run '^$$' -bench . -benchmem $(TESTS)

soak: ## run the tests in full sizes (an hour or more)
	JUJU_SOAK=1 $(GO) test -vet=off -timeout 6h -v $(TESTS)
