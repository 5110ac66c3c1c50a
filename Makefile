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

# Of these a release is built. Other settings of the toolchain would give other bytes.
VERSION  = $(shell sed -n 's/^var Version = "\(.*\)"/\1/p' agent/config.go)
ARCHS   := amd64 arm64
DIST    := dist
PREFIX  ?= /usr/local
LIB      = $(DESTDIR)$(PREFIX)/lib/juju

# Programs and tests are built alike, so that they share compiled packages.
export CGO_ENABLED := 0
export GOFLAGS := $(GOFLAGS) -trimpath

.DEFAULT_GOAL := help
.PHONY: help build release install uninstall charms demo demo-down smoke staticcheck test stress verify vendored docs site bench measures findings lxd-down \
	verify-race verify-full verify-stories verify-charms verify-jujulib verify-jubilant verify-libjuju verify-dashboard \
	verify-pages verify-mongosh verify-traces verify-lxd verify-lxd-cluster \
	soak soak-sim soak-crash soak-races soak-matrix soak-store soak-controllers soak-system soak-faults soak-fuzz soak-mutants

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-18s %s\n", $$1, $$2}' Makefile

build: ## build the programs into bin/
	@mkdir -p $(BIN)
	@echo "Building the programs. The first time, this downloads and compiles"
	@echo "the libraries they use, which takes about two minutes on two cores."
	@n=0; for c in $(CMDS); do n=$$((n + 1)); \
		echo "[$$n/$(words $(CMDS))] $(BIN)/$$c"; \
		$(GO) build -ldflags "-X juju/agent.commit=$(COMMIT)" -o $(BIN)/$$c ./cmd/$$c || exit 1; \
	done

# The same commit gives the same bytes, wherever and whenever it is built with the same Go: doc/release_test.go.
release: ## build static binaries for Linux into dist/, with checksums
	@rm -rf $(DIST) && mkdir -p $(DIST)
	@set -e; for arch in $(ARCHS); do \
		name=juju-$(VERSION)-linux-$$arch; mkdir $(DIST)/$$name; \
		for c in $(CMDS); do \
			echo "$$name/$$c"; \
			GOOS=linux GOARCH=$$arch GOAMD64=v1 GOARM64=v8.0 GOFLAGS=-trimpath GOEXPERIMENT= $(GO) build -buildvcs=false \
				-ldflags "-s -w -buildid= -X juju/agent.commit=$(COMMIT) -X juju/agent.Version=$(VERSION)" \
				-o $(DIST)/$$name/$$c ./cmd/$$c; \
		done; \
		tar -C $(DIST) --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=0755 -cf $(DIST)/$$name.tar $$name; \
		gzip -9n $(DIST)/$$name.tar; \
	done
	@cd $(DIST) && sha256sum *.tar.gz >SHA256SUMS && cat SHA256SUMS

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
smoke: ## check the formatting, run vet, and compare generated files and documents with the code: before a commit
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not formatted (run gofmt -w):"; echo "$$unformatted"; exit 1; fi
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
stress: ## run the tests that have changed since BASE twenty times beside two busy loops, and plant the faults that have: before they land
	$(GO) run ./doc/tools/stress $(BASE) -vet=off -short -count=20 -failfast -timeout 60m
	JUJU_VERIFY=1 JUJU_FAULTS=$(BASE) $(GO) test -vet=off -timeout 2h -run '^($(FAULTS))$$' ./doc

VERIFY   := verify-race verify-full verify-stories verify-charms verify-jujulib verify-jubilant verify-libjuju \
	verify-dashboard verify-pages verify-mongosh verify-traces verify-lxd
VERIFIED  = JUJU_VERIFY=1 $(RUN) -part $@
FULL     := $(FLAGS) -timeout 60m
STORIES  := TestSystem|TestLanding|TestControllersFall
verify: ## run all tests at their full size, an hour or more; doc/verified.md has the results
	@failed=; for part in $(VERIFY); do $(MAKE) --no-print-directory $$part || failed="$$failed $$part"; done; \
	[ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }

# A program built with the race detector otherwise sleeps for a second before it exits.
verify-race: ## … all but the stories, in short sizes under the race detector (needs a C compiler)
	@command -v $${CC:-cc} >/dev/null || command -v gcc >/dev/null || { \
		echo "make verify-race: the race detector needs a C compiler; install gcc, or set CC"; exit 1; }
	CGO_ENABLED=1 GORACE=atexit_sleep_ms=0 JUJU_SMOKED=1 $(VERIFIED) -packages '$(PACKAGES)' -- $(FULL) -race -short

verify-full: ## … those that -short makes smaller, and those that make test leaves out
	$(VERIFIED) -calls testing.Short,verify.Only -- $(FULL) -skip '^($(STORIES))$$'

verify-stories: ## … stories of whole systems, in real processes
	$(VERIFIED) -packages ./cmd/juju -- $(FULL) -run '^($(STORIES))$$'

verify-charms: ## run charms on the libraries in CHARM_LIBRARIES=DIR (needs the system's python3 with yaml)
	@test -d "$(CHARM_LIBRARIES)/ops" -a -d "$(CHARM_LIBRARIES)/charmhelpers" || \
		{ echo "make verify-charms: skipped: CHARM_LIBRARIES names no directory with ops and charmhelpers"; exit 0; }; \
	PATH=/usr/local/bin:/usr/bin:/bin python3 -c 'import yaml' 2>/dev/null || \
		{ echo "make verify-charms: skipped: the system has no python3 with the module yaml"; exit 0; }; \
	CHARM_LIBRARIES="$(abspath $(CHARM_LIBRARIES))" $(VERIFIED) -packages ./cmd/juju -- $(FULL) -count=1 -run '^TestCharmLibraries$$'

verify-jujulib: ## run the official JavaScript client, which npm downloads, against a controller
	@command -v node >/dev/null && command -v npm >/dev/null || \
		{ echo "make verify-jujulib: skipped: there is no node with npm"; exit 0; }; \
	dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT; \
	timeout 300 npm install --silent --no-audit --no-fund --prefix "$$dir" @canonical/jujulib@9.1 || \
		{ echo "make verify-jujulib: skipped: npm cannot install @canonical/jujulib"; exit 0; }; \
	JUJULIB="$$dir" $(VERIFIED) -packages ./apiserver -- $(FULL) -count=1 -run '^TestOfficialJavaScriptClient$$'

verify-jubilant: ## call jubilant, a client of the command line, and run its own tests: JUBILANT=DIR, its source
	@test -n "$(JUBILANT)" || { echo "make verify-jubilant: skipped: JUBILANT=DIR does not say where github.com/canonical/jubilant is"; exit 0; }; \
	/usr/bin/python3 -c 'import pytest, cryptography, yaml' 2>/dev/null || { echo "make verify-jubilant: skipped:" \
		"the system's python3 has no pytest, cryptography or yaml: apt-get install python3-pytest python3-cryptography python3-yaml"; exit 0; }; \
	JUBILANT="$(abspath $(JUBILANT))" $(VERIFIED) -packages ./cmd/juju -- $(FULL) -count=1 -run '^TestJubilant(sOwnTests)?$$'

verify-libjuju: ## call python-libjuju, a client of the API: LIBJUJU=DIR, its source
	@test -n "$(LIBJUJU)" || { echo "make verify-libjuju: skipped: LIBJUJU=DIR does not say where github.com/juju/python-libjuju is"; exit 0; }; \
	LIBJUJU="$(abspath $(LIBJUJU))" $(VERIFIED) -packages ./cmd/juju -- $(FULL) -count=1 -run '^TestLibjuju$$'

verify-dashboard: ## use Juju's dashboard in Chromium: DASHBOARD=DIR, a build of it; PICTURES=DIR, pictures of its pages
	@test -f "$(DASHBOARD)/index.html" || { \
		echo "make verify-dashboard: skipped: DASHBOARD=DIR does not say where a build of github.com/canonical/juju-dashboard is"; exit 0; }; \
	dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	timeout 300 npm install --silent --no-audit --no-fund --prefix "$$dir" playwright-core@1.65 && \
	DASHBOARD="$(abspath $(DASHBOARD))" PICTURES="$(abspath $(PICTURES))" PLAYWRIGHT="$$dir" \
		$(VERIFIED) -packages ./cmd/juju -- $(FULL) -count=1 -run '^TestDashboard$$'

# The libraries of the pages are those that package-lock.json names.
PAGES := apiserver/dashboard
verify-pages: build charms ## use the dashboard of a controller in Chromium, with axe-core, which npm downloads; PICTURES=DIR, pictures of its pages
	@command -v chromium >/dev/null && command -v npm >/dev/null || { echo "make verify-pages: skipped: there is no chromium, or no npm"; exit 0; }; \
	dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && cp $(PAGES)/package.json $(PAGES)/package-lock.json "$$dir" && \
	timeout 300 npm ci --silent --no-audit --no-fund --prefix "$$dir" && \
	LIBRARIES="$$dir/node_modules" BIN="$(CURDIR)/bin" PICTURES="$(abspath $(PICTURES))" \
		$(VERIFIED) -packages ./$(PAGES) -- $(FULL) -count=1 -run 'Browser$$|DashboardOfAController|Libraries'

vendored: ## copy the libraries of the dashboard's pages from npm, as package-lock.json names them
	cd $(PAGES) && npm ci --omit dev && cp node_modules/d3/dist/d3.min.js node_modules/idiomorph/dist/idiomorph.min.js static/vendor && \
	for one in d3 idiomorph; do cp node_modules/$$one/LICENSE static/vendor/$$one.LICENSE; done && rm -r node_modules

# The version is the one whose output the test knows. It stays in .tmp, because it is large.
MONGOSH_VERSION := 2.12.0
MONGOSH_DIR     := $(CURDIR)/.tmp/mongosh-$(MONGOSH_VERSION)
verify-mongosh: ## run MongoDB's shell, which npm downloads, against jujud mongod
	@command -v node >/dev/null && command -v npm >/dev/null || \
		{ echo "make verify-mongosh: skipped: there is no node with npm"; exit 0; }; \
	[ -x "$(MONGOSH_DIR)/node_modules/.bin/mongosh" ] || \
	timeout 600 npm install --silent --no-audit --no-fund --prefix "$(MONGOSH_DIR)" mongosh@$(MONGOSH_VERSION) || \
		{ rm -rf "$(MONGOSH_DIR)"; echo "make verify-mongosh: skipped: npm cannot install mongosh"; exit 0; }; \
	MONGOSH="$(MONGOSH_DIR)/node_modules/.bin/mongosh" $(VERIFIED) -packages ./state/mongo/conformancetest -- $(FULL) -count=1 -run '^TestMongosh$$'

# Its parts are modules of two versions. It stays in .tmp, because it is large and takes minutes to compile.
OTELCOL_VERSION := 0.165.0
OTELCOL_DIR     := $(CURDIR)/.tmp/otelcol-$(OTELCOL_VERSION)
OTELCOL_PARTS   := go.opentelemetry.io/collector/otelcol@v$(OTELCOL_VERSION) go.opentelemetry.io/collector/receiver/otlpreceiver@v$(OTELCOL_VERSION) \
	github.com/open-telemetry/opentelemetry-collector-contrib/exporter/fileexporter@v$(OTELCOL_VERSION) \
	go.opentelemetry.io/collector/confmap/provider/fileprovider@v1.71.0
verify-traces: ## run OpenTelemetry's collector, which is built from its modules, and find a trace in its file
	@[ -x "$(OTELCOL_DIR)/otelcol" ] || ( mkdir -p "$(OTELCOL_DIR)" && cp cmd/juju/testdata/otelcol/main.go "$(OTELCOL_DIR)" && cd "$(OTELCOL_DIR)" && \
		rm -f go.mod go.sum && export GOFLAGS=-mod=mod && $(GO) mod init otelcol && $(GO) get $(OTELCOL_PARTS) && $(GO) build -o otelcol . ) >/dev/null 2>&1 || \
		{ echo "make verify-traces: skipped: the collector can't be built in $(OTELCOL_DIR)"; exit 0; }; \
	OTELCOL="$(OTELCOL_DIR)/otelcol" $(VERIFIED) -packages ./cmd/juju -- $(FULL) -count=1 -run '^TestTracesInACollector$$'

# LXD's socket may be named in JUJU_LXD; otherwise one is set up, or used again.
LXD_SH := provider/lxd/testdata/lxd.sh
verify-lxd: ## run the tests of the cloud lxd on a real LXD (as root on Debian; sets one up)
	@dir=; [ -n "$(JUJU_LXD)" ] || { dir=$$($(LXD_SH) up) || exit 1; }; \
	export $$dir JUJU_NEED_LXD=1; \
	$(VERIFIED)-cloud -packages ./provider/lxd -- $(FULL) -count=1 && \
	$(VERIFIED)-kills -packages ./agent/controller -- $(FULL) -count=1 -run 'CallsOnLXD$$' && \
	$(VERIFIED)-stories -packages ./cmd/juju -- $(FULL) -count=1 -run '^TestOnLXD$$'

CLUSTER_SH := provider/lxd/testdata/cluster.sh
verify-lxd-cluster: ## run the tests of the cloud lxd on a real cluster of two members, made and removed
	@$(LXD_SH) up >/dev/null && $(CLUSTER_SH) up >/dev/null || exit 1; \
	JUJU_VERIFY=1 JUJU_NEED_LXD=1 $(CLUSTER_SH) run $(RUN) -part $@ -packages ./provider/lxd -- $(FULL) -count=1 \
		-run '^TestConformance$$|OfTheCluster'; \
	failed=$$?; $(CLUSTER_SH) down; exit $$failed

lxd-down: ## remove what verify-lxd has set up
	@$(LXD_SH) down

docs: ## write the generated code and the generated parts of doc/ anew
	$(GO) generate ./...
	$(GO) test -vet=off -count=1 ./cmd/juju -run '^(TestReference|TestAbsentInJSON)$$' -update
	$(GO) test -vet=off -count=1 ./state/lifecycle -run '^TestDocumentIsUpToDate$$' -update
	$(GO) test -vet=off -count=1 ./hooks/hooktools -run '^TestReference$$' -update
	$(GO) test -vet=off -count=1 ./apiserver -run '^(TestSecurityPage|TestAPIPage)$$' -update
	$(GO) test -vet=off -count=1 ./hooks -run '^TestGuide$$' -update
	$(GO) test -vet=off -count=1 ./charm -run '^TestComingFromJuju$$' -update
	$(GO) test -vet=off -count=1 ./cmd/juju/commands -run '^TestComingFromJuju$$' -update
	$(GO) test -vet=off -count=1 ./charm/journaltest -run '^TestGuide$$' -update
	$(GO) test -vet=off -count=1 ./agent/controller/metrics -run '^TestMetricsPage$$' -update
	$(GO) test -vet=off -count=1 ./provider/providertest -run '^TestProvidersPage$$' -update
	$(GO) test -vet=off -count=1 ./doc -run '^(TestFindings|TestContract)$$' -update

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
SOAK   := JUJU_VERIFY=1 JUJU_SOAK=1 $(GO) test -vet=off -timeout 6h -v
SIM    := TestStateMatchesTheReferenceModel|TestSimulationFindsPlantedFaults
SIM    := $(SIM)|TestConcurrentSimulation|TestLeadersNeverOverlap|TestLeadingControllersNeverOverlap
CRASH  := TestKilledProcess|TestCutConnection
CRASH  := $(CRASH)|TestKillDuringAddModel|TestKillDuringModelRemoval
MATRIX := TestDestructionMatrix
FAULTS := TestPlantedFaultsAreFound
FALL   := TestControllersFall
store   = $$($(GO) list ./... | grep '/state/mongo')
state   = $$($(GO) list ./... | grep '/state' | grep -v '/state/mongo')
others  = $$($(GO) list ./... | grep -v '/state')

SOAKS  := soak-sim soak-crash soak-races soak-matrix soak-store soak-controllers soak-system soak-faults soak-fuzz
soak: $(SOAKS) ## run all tests at full size, one proof after another

soak-sim: ## … random lives of a model against the reference model, and elections of leaders
	$(SOAK) -run '^($(SIM))' $(state)

soak-crash: ## … each change of the model, killed or cut off at each message to the store
	$(SOAK) -run '^($(CRASH))' $(state)

soak-races: ## … each change against each other change and each assert; and the rest of state
	$(SOAK) -skip '^($(SIM)|$(CRASH))' $(state)

soak-matrix: ## … each way to destroy each entity, in each state of its agents and cloud
	$(SOAK) -run '^($(MATRIX))' ./agent/controller

soak-store: ## … the store: power losses, kills, damaged files, random commands, elections
	$(SOAK) $(store)
	for store in adapter standalone; do \
		JUJU_VERIFY=1 JUJU_TEST_STORE=$$store $(GO) test -vet=off -short -timeout 1h ./state ./state/controller || exit 1; \
	done

# SEED=… repeats a course of events, and TIME=… makes it longer.
TIME ?= 10m
soak-controllers: ## … three controllers on one store are killed and paused for TIME while a user works
	JUJU_TIME=$(TIME) JUJU_SEED=$(if $(filter command environment,$(firstword $(origin SEED))),$(SEED)) $(SOAK) -run '^($(FALL))$$' ./cmd/juju

soak-system: ## … whole systems, 200 cycles of deploy and destroy, random lives, 50,000 hooks
	$(SOAK) -skip '^($(MATRIX)|$(FAULTS)|$(FALL))' $(others)

# A test that finds a fault mostly waits for what does not come, so several are planted at a time.
soak-faults: ## … each fault of doc/faults.txt is planted, and its test must find it
	$(SOAK) -parallel $$(expr 3 '*' $$(nproc)) -run '^($(FAULTS))' ./doc

FUZZTIME ?= 10m
# Go makes each input smaller that reaches new code, for up to a minute, which would take most of the time.
soak-fuzz: ## … each fuzzer runs for FUZZTIME, 10 minutes by default
	@grep -rE '^func Fuzz' --include='*_test.go' . | sed -E 's,^([^:]*)/[^/:]*:func (Fuzz[A-Za-z]*).*,\1 \2,' | sort | \
	while read -r dir name; do \
		$(GO) test -vet=off -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x -timeout 0 $$dir </dev/null || exit 1; \
	done

# What a package's tests notice is measured by package: PKG='./worker/deployer', SEED=2 for another sample, and
# BY=./worker/uniter if the tests of that package count too.
PKG  ?=
SEED ?= 1
BY   ?=
soak-mutants: ## … mutants of the packages in PKG, of which the packages' tests must notice nine in ten
	@test -n "$(PKG)" || { echo "make soak-mutants: say which packages: make soak-mutants PKG=./worker/deployer"; exit 1; }
	$(GO) run ./doc/tools/mutants -seed $(SEED) -by "$(BY)" $(PKG)
