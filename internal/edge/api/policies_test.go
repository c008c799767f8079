package api

import (
	"strings"
	"testing"

	"github.com/einmal/einmal/internal/ground/fault"
)

// covers: X3
func TestPoliciesAreListedAndShown(t *testing.T) {
	w := newWorld(t)
	var page List[PolicyView]
	w.get("/v1/policies?limit=1", 200, &page)
	if len(page.Data) != 1 || page.Data[0].ID != "shop@7" || !page.Data[0].InForce || page.Data[0].By != "ann" || *page.Data[0].Since != "2026-12-31T10:00:00Z" || page.Next == nil {
		t.Fatalf("%+v", page)
	}
	w.get("/v1/policies?limit=1&after="+*page.Next, 200, &page)
	if len(page.Data) != 1 || page.Data[0].ID != "builtin@1" || page.Data[0].InForce || page.Data[0].Since != nil || page.Next != nil {
		t.Errorf("%+v", page)
	}
	for _, id := range []string{"shop@7", "current"} {
		var one OnePolicyView
		w.get("/v1/policies/"+id, 200, &one)
		if one.ID != "shop@7" || one.Source != "policy: shop" || !one.InForce {
			t.Errorf("%s: %+v", id, one)
		}
	}
	for _, id := range []string{"shop@8", "shop", "7", "shop@x", "@7"} {
		w.problem(w.call("GET", "/v1/policies/"+id, w.admin, ""), 404, fault.NotFound)
	}
	w.problem(w.call("GET", "/v1/policies?after=x", w.admin, ""), 400, fault.Invalid)
}

// covers: X3, D14
func TestPoliciesAreApplied(t *testing.T) {
	w := newWorld(t)
	var got AppliedPolicyView
	w.decode(w.call("POST", "/v1/policies", w.admin, `{"file":"shop.yaml","source":"policy: shop\n"}`), 200, &got)
	key := w.keyID("admin")
	if a := w.outbound.applied; a.file != "shop.yaml" || a.source != "policy: shop\n" || !strings.HasSuffix(a.by, ", key "+key) {
		t.Errorf("%+v", a)
	}
	if got.ID != "shop@7" || !got.Changed || !got.InForce {
		t.Errorf("%+v", got)
	}
	p := w.problem(w.call("POST", "/v1/policies", w.admin, `{"file":"shop.yaml"}`), 400, fault.Invalid)
	if len(p.Errors) != 1 || p.Errors[0].Pointer != "#/source" {
		t.Errorf("%+v", p)
	}
	large := `{"source":"` + strings.Repeat("#", maxBody) + `"}`
	if rec := w.call("POST", "/v1/policies", w.admin, large); rec.Code != 200 {
		t.Errorf("a file over the limit of other bodies: %d", rec.Code)
	}
	if rec := w.call("POST", "/v1/policies", w.admin, `{"source":"`+strings.Repeat("#", maxPolicyBody)+`"}`); rec.Code != 413 {
		t.Errorf("far too large: %d", rec.Code)
	}
	w.outbound.err = fault.New(fault.State, "shop@9 was in force already")
	w.problem(w.call("POST", "/v1/policies", w.admin, `{"source":"policy: shop"}`), 409, fault.State)
}
