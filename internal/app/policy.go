package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// policyBuiltin is the value of "policy" that names the gateway's own.
const policyBuiltin = "builtin"

// policyFile is the file that the configuration names; "": none.
func (c Config) policyFile() string {
	file, ok := strings.CutPrefix(c.Policy, "file:")
	if !ok {
		return ""
	}
	return filepath.Clean(file)
}

// policyFlag is the policy as the command line names it, where a file has no prefix.
func policyFlag(flag string) string {
	if flag == "" || flag == policyBuiltin || strings.HasPrefix(flag, "file:") {
		return flag
	}
	return "file:" + flag
}

// readPolicy reads what this node brings: the built-in policy, or a file without a mistake.
func (c Config) readPolicy() (store.PolicyVersion, error) {
	file := c.policyFile()
	switch {
	case c.Policy == policyBuiltin:
		p := policy.Builtin()
		return store.PolicyVersion{Name: p.Name, Version: p.Version, Source: policy.BuiltinSource()}, nil
	case file == "" || file == ".":
		return store.PolicyVersion{}, fmt.Errorf("write %s, or file:PATH", policyBuiltin)
	}
	source, err := os.ReadFile(file)
	if err != nil {
		return store.PolicyVersion{}, fmt.Errorf("the file cannot be read: %w", err)
	}
	p, wrong := policy.ParseOwn(file, source)
	if wrong != nil {
		return store.PolicyVersion{}, fmt.Errorf("wrong places in the file: %d\n%w", len(wrong), wrong)
	}
	return store.PolicyVersion{Name: p.Name, Version: p.Version, Source: source}, nil
}

// bringer names this node as the one that brings a policy.
func bringer(node ident.Node) string { return "the configuration of " + node.String() }

// ReloadPolicy reads the configured policy file again and brings it into force. What goes wrong is logged, and the
// policy in force stays.
func (a *App) ReloadPolicy(ctx context.Context) {
	file := a.cfg.policyFile()
	if file == "" {
		return
	}
	source, err := os.ReadFile(file)
	if err == nil {
		_, _, err = a.outbound.ApplyPolicy(ctx, file, source, bringer(a.node))
	}
	if err != nil {
		a.log.Error("the policy file was read again and is not used: the policy in force stays", "file", file, "error", err)
	}
}

// Reloads reports whether there is something that Reload would read again.
func (a *App) Reloads() bool { return a.cfg.policyFile() != "" || a.certs != nil }

// Reload reads the policy file and the certificate again. What is wrong with them is logged, and what was there stays.
func (a *App) Reload(ctx context.Context) {
	if a.certs != nil {
		a.certs.Check()
	}
	a.ReloadPolicy(ctx)
}
