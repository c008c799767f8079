package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/einmal/einmal/internal/domain/policy"
	"github.com/einmal/einmal/internal/domain/trial"
	"github.com/einmal/einmal/internal/edge/api"
)

type policyCmd struct {
	Check policyCheckCmd `cmd:"" help:"Say what is wrong with a policy file, and what would be right."`
	Test  policyTestCmd  `cmd:"" help:"Run a policy file's tests, in virtual time."`
	Apply policyApplyCmd `cmd:"" help:"Bring a policy file into force, on all nodes at once."`
	Show  policyShowCmd  `cmd:"" help:"Show the file of a version; without one, of the policy in force."`
	List  policyListCmd  `cmd:"" help:"List the versions that were in force, the newest first."`
}

// policyFile is a command's file.
type policyFile struct {
	File string `arg:"" help:"The policy file." type:"path"`
}

// name is the file's name as the person gave it, as far as the folder they are in allows.
func (f policyFile) name() string {
	if here, err := os.Getwd(); err == nil {
		if short, err := filepath.Rel(here, f.File); err == nil && !strings.HasPrefix(short, "..") {
			return short
		}
	}
	return f.File
}

// maxPolicyFile is how much of a file is read, in bytes; the parser refuses what is longer than a policy may be.
const maxPolicyFile = 1 << 20

func (f policyFile) read() ([]byte, error) {
	info, err := os.Stat(f.File)
	if err == nil && info.Size() > maxPolicyFile {
		return nil, &failure{code: exitUsage, text: f.name() + " is too large for a policy file"}
	}
	source, err := os.ReadFile(f.File)
	if err != nil {
		return nil, &failure{code: exitUsage, text: "the policy file cannot be read: " + err.Error()}
	}
	return source, nil
}

type policyCheckCmd struct {
	policyFile
	JSON bool `name:"json" help:"Print JSON."`
}

// wrongPlace is an error of a file as JSON.
type wrongPlace struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

func wrongPlaces(all policy.Errors) []wrongPlace {
	places := []wrongPlace{}
	for _, e := range all {
		places = append(places, wrongPlace(e))
	}
	return places
}

func (c *policyCheckCmd) Run(env *Env) error {
	source, err := c.read()
	if err != nil {
		return err
	}
	p, wrong := policy.ParseOwn(c.name(), source)
	if c.JSON {
		err = compact(env, struct {
			File   string       `json:"file"`
			OK     bool         `json:"ok"`
			Policy string       `json:"policy,omitempty"`
			Errors []wrongPlace `json:"errors"`
		}{c.name(), wrong == nil, idOf(p), wrongPlaces(wrong)})
		if err == nil && wrong != nil {
			err = errWrongFile(wrong)
		}
		return err
	}
	if wrong != nil {
		showWrong(env, wrong)
		return errWrongFile(wrong)
	}
	showPolicy(env, p)
	return nil
}

func idOf(p *policy.Policy) string {
	if p == nil {
		return ""
	}
	return p.ID()
}

func errWrongFile(wrong policy.Errors) error {
	return &failure{code: exitFailed, text: fmt.Sprintf("the file is not a policy: %s", count(len(wrong), "wrong place"))}
}

// count writes a number with its word.
func count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// showWrong writes each error as compilers do, so that editors find the place.
func showWrong(env *Env, wrong policy.Errors) {
	s := env.style()
	for _, e := range wrong {
		_, _ = fmt.Fprintf(env.Stdout, "%s %s\n", s.bold(fmt.Sprintf("%s:%d:%d:", clean(e.File), e.Line, e.Column)), clean(e.Message))
	}
}

type policyApplyCmd struct {
	policyFile
	clientFlags
}

func (c *policyApplyCmd) Run(ctx context.Context, env *Env) error {
	source, err := c.read()
	if err != nil {
		return err
	}
	p, wrong := policy.ParseOwn(c.name(), source)
	if wrong != nil {
		showWrong(env, wrong)
		return errWrongFile(wrong)
	}
	if results := trial.Run(p); failures(results) > 0 { // the gateway says so too, in fewer words
		showTests(env, c.name(), p, results)
		return errFailedTests(results)
	}
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]string{"file": c.name(), "source": string(source)})
	if err != nil {
		return err
	}
	a, err := gateway.do(ctx, http.MethodPost, "/v1/policies", body, nil)
	if err != nil {
		return unlost(err, "the same command again: it brings nothing into force twice")
	}
	if c.JSON {
		_, err = env.Stdout.Write(a.body)
		return err
	}
	var applied api.AppliedPolicyView
	if err := json.Unmarshal(a.body, &applied); err != nil {
		return err
	}
	if applied.Changed {
		_, _ = fmt.Fprintf(env.Stdout, "%s is in force, on every node from its next decision on; windows that run keep running\n", env.style().good(clean(applied.ID)))
	} else {
		_, _ = fmt.Fprintf(env.Stdout, "%s was in force already\n", clean(applied.ID))
	}
	return nil
}

type policyShowCmd struct {
	Version string `arg:"" optional:"" default:"current" help:"Such as shop@7; builtin is this release's own, which needs no gateway."`
	clientFlags
}

func (c *policyShowCmd) Run(ctx context.Context, env *Env) error {
	if c.Version == policy.Builtin().Name {
		_, err := env.Stdout.Write(policy.BuiltinSource())
		return err
	}
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	var p api.OnePolicyView
	raw, err := gateway.get(ctx, "/v1/policies/"+url.PathEscape(c.Version), &p)
	if f := (*failure)(nil); errors.As(err, &f) && f.code == exitNotFound {
		f.next = "einmal policy list"
	}
	if err != nil {
		return err
	}
	if c.JSON {
		_, err = env.Stdout.Write(raw)
		return err
	}
	state := "not in force"
	if p.InForce {
		state = "in force"
	}
	_, _ = fmt.Fprintf(env.Stderr, "%s, %s, %s\n", clean(p.ID), state, since(&p.PolicyView))
	for line := range strings.Lines(p.Source) {
		_, _ = fmt.Fprintln(env.Stdout, clean(strings.TrimRight(line, "\r\n")))
	}
	return nil
}

func since(p *api.PolicyView) string {
	words := "brought by " + clean(p.By)
	if p.By == "" {
		words = "nobody knows who brought it"
	}
	if p.Since != nil {
		words = "since " + clock(*p.Since) + " UTC, " + words
	}
	return words
}

type policyListCmd struct {
	Limit int `help:"How many at most, up to 200." default:"50"`
	clientFlags
}

func (c *policyListCmd) Run(ctx context.Context, env *Env) error {
	gateway, err := c.client(env)
	if err != nil {
		return err
	}
	var page api.List[api.PolicyView]
	raw, err := gateway.get(ctx, fmt.Sprintf("/v1/policies?limit=%d", c.Limit), &page)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err = env.Stdout.Write(raw)
		return err
	}
	rows := [][]string{{"VERSION", "SINCE (UTC)", "IN FORCE", "BY"}}
	for _, p := range page.Data {
		at, now := "-", "-"
		if p.Since != nil {
			at = clock(*p.Since)
		}
		if p.InForce {
			now = "yes"
		}
		rows = append(rows, []string{clean(p.ID), at, now, clean(p.By)})
	}
	table(env.Stdout, rows)
	if page.Next != nil {
		_, _ = fmt.Fprintln(env.Stdout, env.style().faint("there are more: --limit 200, or GET /v1/policies?after="))
	}
	return nil
}
