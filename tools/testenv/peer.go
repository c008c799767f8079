//go:build unix

package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// peer is a program that tests run themselves, to talk to it.
type peer struct {
	name, env string
	find      func(context.Context) (string, error) // an absent error where it is not there
	packages  []string                              // Debian's, that have it
	after     string                                // for the shell, after their installation
	what      string                                // what the variable names, for people
}

// service is a peer as testenv brings it.
func (p peer) service() service {
	found := func(ctx context.Context, _ *scratch) (*server, error) {
		path, err := p.find(ctx)
		if err != nil {
			return nil, err
		}
		return &server{about: path, value: path}, nil
	}
	return service{
		name: p.name, env: p.env,
		ways: []way{{"installed", found}, {"Debian package", installed(found, installPackages(p.packages...)+p.after)}},
		hint: fmt.Sprintf("Either install it (Debian: apt-get install %s), or set %s to %s.", strings.Join(p.packages, " "), p.env, p.what),
	}
}

// firstProgram returns the first of the names that is a program. Names without a slash are looked up in PATH.
func firstProgram(names ...string) (string, error) {
	for _, n := range names {
		if path, err := exec.LookPath(n); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", absent{"there is no " + strings.Join(names, ", no ")}
}

func findTshark(context.Context) (string, error) { return firstProgram("tshark") }

func findChromium(context.Context) (string, error) {
	return firstProgram("chromium", "chromium-browser", "google-chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium")
}

func findDriveSMPP(context.Context) (string, error) {
	return firstProgram("drive_smpp", "/usr/lib/kannel/test/drive_smpp")
}

// findKannel returns the folder of both programs. Debian puts them where the PATH of an ordinary user does not lead.
func findKannel(context.Context) (string, error) {
	bearerbox, err := firstProgram("bearerbox", "/usr/sbin/bearerbox")
	if err != nil {
		return "", err
	}
	folder := filepath.Dir(bearerbox)
	_, err = firstProgram(filepath.Join(folder, "smsbox"))
	return folder, err
}

// findNetSMPP returns a perl that has the module. The one of PATH may be another than the distribution's.
func findNetSMPP(ctx context.Context) (string, error) {
	for _, name := range []string{"perl", "/usr/bin/perl"} {
		perl, err := firstProgram(name)
		if err == nil && exec.CommandContext(ctx, perl, "-MNet::SMPP", "-MJSON::PP", "-e", "1").Run() == nil {
			return perl, nil
		}
	}
	return "", absent{"no perl has the modules Net::SMPP and JSON::PP"}
}
