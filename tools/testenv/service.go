//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// service is something that tests need beside the code.
type service struct {
	name string
	env  string // names a server that is there already; is set for the command otherwise
	ways []way  // tried in this order
	hint string // what a person can do when no way is open
}

// way is one manner of getting a service. Start returns an absent error where this machine does not offer it;
// the next way is tried then. Any other error ends the run, since a way that is there and fails is a finding.
type way struct {
	name  string
	start func(context.Context, *scratch) (*server, error)
}

// server is a running service that we started, or a program that tests run themselves.
type server struct {
	about string       // for people: which version, from where
	value string       // what the service's variable gets
	stop  func() error // waits until it has ended; nil where nothing was started
}

// services is every service that tests may ask for.
var services = []service{{
	name: "postgres",
	env:  "EINMAL_TEST_POSTGRES",
	ways: []way{
		{"installed", startInstalled},
		{"Debian package", startAfterInstall},
		{"Docker", startContainer},
	},
	hint: "Either install PostgreSQL's server programs (Debian: apt-get install postgresql), or set\n" +
		"EINMAL_TEST_POSTGRES=postgres://user:password@host:port/database to a server in which tests may create databases.",
}, {
	name: "node-smpp",
	env:  "EINMAL_TEST_NODE_SMPP",
	ways: []way{
		{"npm", nodeSMPP},
		{"Debian's Node.js and npm", installed(nodeSMPP, installPackages("nodejs", "npm"))},
	},
	hint: "Either install Node.js and npm, or set EINMAL_TEST_NODE_SMPP to a node_modules folder with the package smpp " + nodeSMPPVersion + ".",
}, peer{
	name: "net-smpp", env: "EINMAL_TEST_NET_SMPP", find: findNetSMPP, packages: []string{"libnet-smpp-perl"},
	what: "a perl that has the module Net::SMPP",
}.service(), peer{
	name: "kannel", env: "EINMAL_TEST_KANNEL", find: findKannel, packages: []string{"kannel"},
	after: "update-rc.d kannel disable\n", // nor at the next start of the machine
	what:  "the folder of Kannel's programs bearerbox and smsbox",
}.service(), peer{
	name: "drive_smpp", env: "EINMAL_TEST_DRIVE_SMPP", find: findDriveSMPP, packages: []string{"kannel-extras"},
	what: "Kannel's test program drive_smpp",
}.service(), peer{
	name: "tshark", env: "EINMAL_TEST_TSHARK", find: findTshark, packages: []string{"tshark"},
	what: "Wireshark's program tshark",
}.service(), peer{
	name: "chromium", env: "EINMAL_TEST_CHROMIUM", find: findChromium, packages: []string{"chromium", "fonts-dejavu-core"},
	what: "Chromium, or a browser of its kind",
}.service()}

func names(table []service) []string {
	var out []string
	for _, s := range table {
		out = append(out, s.name)
	}
	return out
}

// absent says why a way is not open on this machine.
type absent struct{ reason string }

func (a absent) Error() string { return a.reason }

// start tries the ways in order.
func (s service) start(ctx context.Context, dir *scratch) (*server, error) {
	var why []string
	for _, w := range s.ways {
		srv, err := w.start(ctx, dir)
		if err == nil {
			return srv, nil
		}
		if !errors.As(err, &absent{}) {
			return nil, fmt.Errorf("%s (%s): %w", s.name, w.name, err)
		}
		why = append(why, fmt.Sprintf("  %s: %v", w.name, err))
	}
	return nil, fmt.Errorf("%s is missing:\n%s\n%s", s.name, strings.Join(why, "\n"), s.hint)
}
