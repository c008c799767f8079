# Everything a developer runs. The product builds without a C compiler; -race alone needs one.
export CGO_ENABLED = 0

# Two cores are what a small machine has; go test starts one test program for each.
PARALLEL = -p 2

# Tests that need a service carry this tag: go test ./... alone runs what needs none.
SERVICES = -tags services

# The race detector makes modernc's translated C about twenty times slower and finds nothing of ours there. The
# driver beside it stays instrumented: it uses sync.Map, and a copy of that from a package without the detector
# may be the one that is linked, for everybody, who then sees races where there are none.
RACE = CGO_ENABLED=1 go test $(SERVICES) -race -vet=off \
	-gcflags='modernc.org/sqlite/lib=-race=false' -gcflags='modernc.org/libc=-race=false'

# Packages whose tests kill, restart or flood whole processes run in an ordinary build.
HEAVY = /torture

FUZZTIME ?= 2m

.PHONY: run build test suites suite-tools suite-race suite-heavy torture fuzz check fmt vet static
.PHONY: requirements requirements-quiet tools clean

run:
	go run ./cmd/einmal serve

build:
	go build -trimpath -o bin/einmal ./cmd/einmal

## test: everything that must pass before a change goes in; brings up the services that it needs
test: tools check
	bin/testenv -race -- $(MAKE) --no-print-directory --keep-going suites

## suites: all tests, with the services that the environment names
suites: suite-tools suite-race suite-heavy

suite-tools:
	go test -C tools $(PARALLEL) ./...

suite-race:
	$(RACE) $(PARALLEL) -timeout 20m $$(go list ./... | grep -v $(HEAVY))

suite-heavy:
	@set -- $$(go list ./... | grep $(HEAVY)); test $$# -eq 0 || go test $(SERVICES) $(PARALLEL) -timeout 20m "$$@"

## torture: the same tests with the full counts; hours
torture: tools
	EINMAL_TORTURE=full bin/testenv -- go test $(SERVICES) $(PARALLEL) -count=1 -timeout 12h ./...

## fuzz: FUZZTIME (2m) for each fuzz test
fuzz:
	./tools/fuzz.sh $(FUZZTIME)

## check: what needs no service
check: fmt vet static requirements-quiet
	go test ./internal

fmt:
	@files=$$(gofmt -l cmd internal tools); test -z "$$files" || { echo "not formatted, run gofmt -w:" $$files; exit 1; }

vet:
	go vet ./...
	go vet -tags chaos,services ./...
	go vet -C tools ./...

static: tools
	bin/staticcheck ./...
	bin/staticcheck -tags chaos,services ./...
	cd tools && ../bin/staticcheck ./...

## requirements: which tests stand behind which requirement
requirements: tools
	bin/requirements

requirements-quiet: tools
	@bin/requirements >/dev/null

tools:
	@go build -C tools -o ../bin/ ./testenv ./requirements honnef.co/go/tools/cmd/staticcheck

clean:
	rm -rf bin
