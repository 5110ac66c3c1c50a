# Everything a developer does, by name; `make` alone lists it.
# demo and test need nothing but Go, git and make.

GO      ?= go
BIN     := bin
CMDS    := juju jujud machine-agent unit-agent hook-tool
CHARMS  := keyvalue webpage
# What the programs say they are built from; nothing where there is no git.
COMMIT   = $(shell git describe --always --exclude '*' --abbrev=12 --dirty 2>/dev/null)
# The packages with the slowest tests start first, so that none of them runs alone at the end.
PACKAGES := ./state ./agent/controller ./cmd/juju ./...
# Tests of many packages mostly wait, so more packages are tested at a time than there are processors.
AT_ONCE  := -p $(shell expr 2 '*' $$(nproc))
# Runs tests, and those that fail again.
RUN      := $(GO) run ./doc/tools/runtests
FLAGS    := -vet=off $(AT_ONCE)

PREFIX  ?= /usr/local
LIB      = $(DESTDIR)$(PREFIX)/lib/juju

export GO RUN PACKAGES CMDS COMMIT

# Programs and tests are built alike, so that they share compiled packages.
export CGO_ENABLED := 0
export GOFLAGS := $(GOFLAGS) -trimpath

.DEFAULT_GOAL := help
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.* \#\# .*/\1/p' Makefile)

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-18s %s\n", $$1, $$2}' Makefile

build: ## build the programs into bin/
	@mkdir -p $(BIN)
	@echo "Building the programs, which takes about two minutes the first time."
	@n=0; for c in $(CMDS); do n=$$((n + 1)); \
		echo "[$$n/$(words $(CMDS))] $(BIN)/$$c"; \
		$(GO) build -ldflags "-X juju/agent.commit=$(COMMIT)" -o $(BIN)/$$c ./cmd/$$c || exit 1; \
	done

# The same commit gives the same bytes, wherever and whenever it is built with the same Go: doc/release_test.go.
release: ## build static binaries for Linux into dist/, with checksums
	@doc/tools/release.sh

install: build ## install the programs below PREFIX (/usr/local), and juju into its bin
	@mkdir -p $(LIB) $(DESTDIR)$(PREFIX)/bin
	@for c in $(CMDS); do install -m 0755 $(BIN)/$$c $(LIB)/$$c || exit 1; done
	@ln -sf ../lib/juju/juju $(DESTDIR)$(PREFIX)/bin/juju
	@echo "juju is installed as $(PREFIX)/bin/juju."
	@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; *) \
		echo "It is not on your PATH yet: export PATH=$(PREFIX)/bin:\$$PATH";; esac

uninstall: ## remove what install has installed
	@rm -f $(DESTDIR)$(PREFIX)/bin/juju && rm -rf $(LIB)

charms: ## build the programs of the example charms
	@for c in $(CHARMS); do \
		echo "charm $$c"; \
		$(GO) build -o doc/examples/charms/$$c/bin/$$c ./doc/examples/charms/$$c/src || exit 1; \
	done

demo: build charms ## bootstrap, deploy two related services, show them
	@doc/examples/demo.sh up

demo-down: ## end the demo and remove all it made
	@doc/examples/demo.sh down

# Every test is in one of the steps smoke, test and verify; doc/tools/verify is how it says in which.
# bson.D{{"name", value}} is how mgo is written, so vet does not look at composites.
smoke: ## before a commit: the formatting, vet, and whether generated files and documents are up to date
	@unformatted=$$($(GO) tool goimports -local juju -l $$(git ls-files '*.go')); \
	[ -z "$$unformatted" ] || { echo "not formatted (go tool goimports -local juju -w):"; echo "$$unformatted"; exit 1; }
	$(GO) vet -composites=false ./...
	$(RUN) -calls verify.Smoke -- $(FLAGS) -short -timeout 15m -count=1

staticcheck: ## run staticcheck
	$(GO) tool staticcheck ./...

# Stories wait for processes, so they run without other tests beside them. The bounds are far above what each takes, and
# below what a landing may take even if a test that never ends runs three times.
test: ## run the tests that a change must pass
	$(RUN) -packages ./cmd/juju -- $(FLAGS) -short -timeout 15m -run '^TestLanding$$'
	JUJU_SMOKED=1 $(RUN) -packages '$(PACKAGES)' -- $(FLAGS) -short -timeout 30m -skip '^TestLanding$$'

BASE ?= $(shell git merge-base HEAD origin/main 2>/dev/null || git rev-parse HEAD^)
stress: ## run the tests changed since BASE twenty times beside two busy loops, and plant the faults that have changed
	$(GO) run ./doc/tools/stress $(BASE) -vet=off -short -count=20 -failfast -timeout 60m
	JUJU_VERIFY=1 JUJU_FAULTS=$(BASE) $(GO) test -vet=off -timeout 2h -run '^TestPlantedFaultsAreFound$$' ./doc

export FULL    := $(FLAGS) -timeout 60m
export STORIES := TestSystem|TestLanding|TestControllersFall
VERIFY := verify-race verify-full verify-stories verify-charms verify-jujulib verify-jubilant verify-libjuju \
	verify-dashboard verify-pages verify-mongosh verify-traces verify-lxd
verify: ## run all tests at their full size, an hour or more; doc/verified.md has the results
	@failed=; for part in $(VERIFY); do $(MAKE) --no-print-directory $$part || failed="$$failed $$part"; done; \
	[ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }

verify-race: ## … all but the stories, in short sizes under the race detector (needs a C compiler)
verify-full: ## … those that -short makes smaller, and those that make test leaves out
verify-stories: ## … stories of whole systems, in real processes
verify-charms: ## run charms on the libraries in CHARM_LIBRARIES=DIR
verify-jujulib: ## run the official JavaScript client from npm against a controller
verify-jubilant: ## call jubilant, a client of the command line, and run its own tests: JUBILANT=DIR, its source
verify-libjuju: ## call python-libjuju, a client of the API: LIBJUJU=DIR, its source
verify-dashboard: ## use Juju's dashboard in Chromium: DASHBOARD=DIR, a build of it; PICTURES=DIR, pictures of its pages
verify-pages: build charms ## use a controller's own dashboard in Chromium, with axe-core from npm; PICTURES=DIR
verify-mongosh: ## run MongoDB's shell from npm against jujud mongod
verify-traces: ## run OpenTelemetry's collector, which is built from its modules, and find a trace in its file
verify-lxd: ## run the tests of the cloud lxd on a real LXD (as root on Debian; sets one up)
verify-lxd-cluster: ## run the tests of the cloud lxd on a real cluster of two members, made and removed
$(VERIFY) verify-lxd-cluster: verify-%:
	@doc/tools/verify.sh $*

lxd-down: ## remove what verify-lxd has set up
	@provider/lxd/testdata/lxd.sh down

vendored: ## copy the libraries of the dashboard's pages from npm, as package-lock.json names them
	cd apiserver/dashboard && npm ci --omit dev && cp node_modules/d3/dist/d3.min.js node_modules/idiomorph/dist/idiomorph.min.js static/vendor && \
	for one in d3 idiomorph; do cp node_modules/$$one/LICENSE static/vendor/$$one.LICENSE; done && rm -r node_modules

docs: ## write the generated code and the generated parts of doc/ anew
	@doc/tools/docs.sh

site: ## write the documents as web pages into bin/site, to be read without a server
	@$(GO) run ./doc/tools/site -out $(BIN)/site

bench: ## run the benchmarks
	$(GO) test -vet=off -run '^$$' -bench . -benchmem $(PACKAGES)

# FOLDERS='. ../pebble' compares projects, and LIST=functions prints the places of a row.
FOLDERS ?= .
measures: ## print measures of the code's structure, without tests, their support and tools
	@$(GO) run ./doc/tools/measures -skip '^(doc|tools)($$|/)' -list '$(LIST)' $(FOLDERS)

FINDINGS ?= $(patsubst findings/%.sh,%,$(wildcard findings/*.sh))
findings: ## see whether outside software still does what findings/ says; FINDINGS=NAME runs one
	@changed=; for f in $(FINDINGS); do echo "== $$f"; findings/$$f.sh; rc=$$?; [ $$rc = 0 -o $$rc = 77 ] || changed="$$changed $$f"; done; \
	[ -z "$$changed" ] || { echo "changed:$$changed"; exit 1; }

# The proofs at full size. Every test runs in exactly one of these.
SOAKS := soak-sim soak-crash soak-races soak-matrix soak-store soak-controllers soak-system soak-faults soak-fuzz
soak: $(SOAKS) ## run all tests at full size, one proof after another
soak-sim: ## … random lives of a model against the reference model, and elections of leaders
soak-crash: ## … each change of the model, killed or cut off at each message to the store
soak-races: ## … each change against each other change and each assert; and the rest of state
soak-matrix: ## … each way to destroy each entity, in each state of its agents and cloud
soak-store: ## … the store: power losses, kills, damaged files, random commands, elections
soak-controllers: ## … three controllers on one store are killed and paused for TIME while a user works; SEED=… repeats it
soak-system: ## … whole systems, 200 cycles of deploy and destroy, random lives, 50,000 hooks
soak-faults: ## … each fault of doc/faults.txt is planted, and its test must find it
soak-fuzz: ## … each fuzzer runs for FUZZTIME, 10 minutes by default
$(SOAKS): soak-%:
	@doc/tools/soak.sh $*

# What a package's tests notice is measured by package: PKG='./worker/deployer', SEED=2 for another sample, and
# BY=./worker/uniter if the tests of that package count too.
PKG  ?=
SEED ?= 1
BY   ?=
soak-mutants: ## … mutants of the packages in PKG, of which the packages' tests must notice nine in ten
	@test -n "$(PKG)" || { echo "make soak-mutants: say which packages: make soak-mutants PKG=./worker/deployer"; exit 1; }
	$(GO) run ./doc/tools/mutants -seed $(SEED) -by "$(BY)" $(PKG)
