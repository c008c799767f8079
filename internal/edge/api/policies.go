package api

import (
	"context"
	"strconv"
	"strings"

	"github.com/einmal/einmal/internal/ground/fault"
	"github.com/einmal/einmal/internal/store"
)

// PolicyView is a version of a policy.
type PolicyView struct {
	ID      string  `json:"id" doc:"The version as decisions name it." example:"shop@7"`
	Policy  string  `json:"policy" doc:"The policy's name."`
	Version int     `json:"version"`
	InForce bool    `json:"in_force" doc:"Whether decisions are made under it now."`
	Since   *string `json:"since" format:"date-time" doc:"When it came into force; null: not known."`
	By      string  `json:"by" doc:"Who brought it."`
}

// OnePolicyView is a version with its file.
type OnePolicyView struct {
	PolicyView
	Source string `json:"source" doc:"The file as it was brought."`
}

// AppliedPolicyView is a version that was brought.
type AppliedPolicyView struct {
	PolicyView
	Changed bool `json:"changed" doc:"false: it was in force already."`
}

func policyView(p *store.PolicyVersion, inForce string) PolicyView {
	return PolicyView{ID: p.ID(), Policy: p.Name, Version: p.Version, InForce: p.ID() == inForce, Since: stamp(p.At), By: p.By}
}

// policyInForce names the policy in force to those who may know: policies are the installation's, and so are their
// tests, which may hold its numbers.
func (a *API) policyInForce(ctx context.Context) (string, error) {
	if principalOf(ctx).Tenant != a.cfg.Installation {
		return "", fault.New(fault.NotFound, "policies belong to the installation: a key of its own tenant is needed")
	}
	name, version, err := a.cfg.Store.PolicyInForce(ctx)
	return store.PolicyVersion{Name: name, Version: version}.ID(), err
}

type listPoliciesIn struct {
	After string `query:"after" maxLength:"20" doc:"Where the page before ended: its next."`
	Limit int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many entries at most."`
}

func (a *API) listPolicies(ctx context.Context, in *listPoliciesIn) (List[PolicyView], error) {
	inForce, err := a.policyInForce(ctx)
	if err != nil {
		return List[PolicyView]{}, err
	}
	before, err := strconv.ParseInt("0"+in.After, 10, 64)
	if err != nil {
		return List[PolicyView]{}, (&decoder{fields: []fault.Field{{Pointer: "after", Detail: "not the next of a page: copy it whole"}}}).fault()
	}
	found, err := a.cfg.Store.ListPolicies(ctx, before, in.Limit+1)
	page := List[PolicyView]{Data: []PolicyView{}}
	for i := range found {
		if i == in.Limit {
			next := strconv.FormatInt(found[i-1].N, 10)
			page.Next = &next
			break
		}
		page.Data = append(page.Data, policyView(&found[i], inForce))
	}
	return page, err
}

// currentPolicy asks for whatever is in force.
const currentPolicy = "current"

func (a *API) getPolicy(ctx context.Context, in *oneIn) (OnePolicyView, error) {
	inForce, err := a.policyInForce(ctx)
	if err != nil {
		return OnePolicyView{}, err
	}
	id := in.ID
	if id == currentPolicy {
		id = inForce
	}
	name, number, ok := strings.Cut(id, "@")
	version, err := strconv.Atoi(number)
	if !ok || err != nil {
		return OnePolicyView{}, fault.New(fault.NotFound, "not a policy version: write it like shop@7, or current for the one in force")
	}
	p, err := a.cfg.Store.Policy(ctx, name, version)
	return OnePolicyView{policyView(&p, inForce), string(p.Source)}, err
}

// maxPolicyBody is the largest body with a policy file, in bytes: a file of 256 KiB with its escapes.
const maxPolicyBody = 1 << 20

type policyBody struct {
	Source string `json:"source" doc:"The policy file, YAML."`
	File   string `json:"file,omitempty" doc:"The file's name, for its errors."`
}

type applyPolicyIn struct {
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte
}

const rightSource = "the policy file as a string, such as the content of shop.yaml"

func (a *API) applyPolicy(ctx context.Context, in *applyPolicyIn) (AppliedPolicyView, error) {
	if _, err := a.policyInForce(ctx); err != nil {
		return AppliedPolicyView{}, err
	}
	var given policyBody
	err := decodeUpTo(maxPolicyBody, in.ContentType, in.RawBody, func(d *decoder) members {
		return members{{"source", d.text(&given.Source)}, {"file", d.text(&given.File)}}
	}, needed{"source", rightSource})
	if err != nil {
		return AppliedPolicyView{}, err
	}
	who := principalOf(ctx)
	p, changed, err := a.cfg.Outbound.ApplyPolicy(ctx, given.File, []byte(given.Source), who.Person+", key "+who.Key)
	if err != nil {
		return AppliedPolicyView{}, err
	}
	inForce, err := a.policyInForce(ctx) // another one may have come since
	return AppliedPolicyView{policyView(&p, inForce), changed}, err
}
