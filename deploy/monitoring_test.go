package deploy_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// strictly decodes a file of which every member must be known.
func strictly(t *testing.T, file string, into any) {
	t.Helper()
	b, err := os.ReadFile(file)
	must(t, err)
	if err := yaml.UnmarshalWithOptions(b, into, yaml.Strict()); err != nil {
		t.Fatalf("%s: %s", file, yaml.FormatError(err, false, true))
	}
}

// metrics are those of the page, with their labels, and the few of others that are used here.
func metrics(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../docs/metrics.md")
	must(t, err)
	known := map[string][]string{"up": {}, "process_resident_memory_bytes": {}}
	for _, row := range regexp.MustCompile("(?m)^\\| `(einmal_[a-z_]+)` \\|([^|]*)\\|").FindAllStringSubmatch(string(page), -1) {
		known[row[1]] = strings.FieldsFunc(row[2], func(r rune) bool { return r == ',' || r == ' ' })
	}
	if len(known) < 25 {
		t.Fatalf("docs/metrics.md has %d metrics", len(known))
	}
	return known
}

// rules is a file of alert rules.
type rules struct {
	Groups []struct {
		Name  string `yaml:"name"`
		Rules []struct {
			Alert       string            `yaml:"alert"`
			Expr        string            `yaml:"expr"`
			For         string            `yaml:"for"`
			Labels      map[string]string `yaml:"labels"`
			Annotations map[string]string `yaml:"annotations"`
		} `yaml:"rules"`
	} `yaml:"groups"`
}

// Alerts are about metrics and labels that there are, and say what to do.
func TestAlerts(t *testing.T) {
	var r rules
	strictly(t, "prometheus/alerts.yaml", &r)
	known, names := metrics(t), map[string]bool{}
	for _, rule := range r.Groups[0].Rules {
		used, err := checkExpr(rule.Expr, known)
		if err != nil || len(used) == 0 {
			t.Errorf("%s: %v", rule.Alert, err)
		}
		if names[rule.Alert] || !strings.HasPrefix(rule.Alert, "Einmal") {
			t.Errorf("%s is no name, or is there twice", rule.Alert)
		}
		names[rule.Alert] = true
		if s := rule.Labels["severity"]; s != "critical" && s != "warning" && s != "info" || len(rule.Labels) != 1 {
			t.Errorf("%s: %v", rule.Alert, rule.Labels)
		}
		if rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" || len(rule.Annotations) != 2 {
			t.Errorf("%s: %v", rule.Alert, rule.Annotations)
		}
		if rule.For != "" && !duration.MatchString(rule.For) {
			t.Errorf("%s: for %q", rule.Alert, rule.For)
		}
		for _, label := range regexp.MustCompile(`\$labels\.([a-z_]+)`).FindAllStringSubmatch(rule.Annotations["description"], -1) {
			if _, err := checkExpr(rule.Expr, known); err == nil && label[1] != "instance" && !strings.Contains(strings.Join(known[used[0]], " "), label[1]) {
				t.Errorf("%s speaks of the label %s, which %s has not", rule.Alert, label[1], used[0])
			}
		}
	}
	if len(names) < 10 {
		t.Errorf("there are %d alerts", len(names))
	}
	if promtool, err := exec.LookPath("promtool"); err == nil {
		if out, err := exec.Command(promtool, "check", "rules", "prometheus/alerts.yaml").CombinedOutput(); err != nil {
			t.Errorf("promtool: %v\n%s", err, out)
		}
	}
}

// dashboard is what Grafana reads of the file.
type dashboard struct {
	UID, Title string
	Templating struct {
		List []struct{ Name, Query string }
	}
	Panels []struct {
		ID         int
		Title      string
		Datasource struct{ UID string }
		GridPos    struct{ X, Y, W, H int }
		Targets    []struct{ RefID, Expr, LegendFormat string }
	}
}

// Panels are about metrics and labels that there are, of the job that is chosen, and lie beside each other.
func TestDashboard(t *testing.T) {
	b, err := os.ReadFile("grafana/einmal.json")
	must(t, err)
	var d dashboard
	must(t, json.Unmarshal(b, &d))
	known, ids, taken := metrics(t), map[int]bool{}, map[[2]int]string{}
	if len(d.Panels) < 15 || len(d.Templating.List) != 2 || d.Templating.List[1].Query != "label_values(einmal_build_info, job)" || known["einmal_build_info"] == nil {
		t.Fatalf("%+v", d)
	}
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" || p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
			t.Errorf("%+v", p)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			if _, err := checkExpr(target.Expr, known); err != nil {
				t.Errorf("%s: %v", p.Title, err)
			}
			if !strings.Contains(target.Expr, `job="$job"`) {
				t.Errorf("%s is about all jobs: %s", p.Title, target.Expr)
			}
			for _, label := range regexp.MustCompile(`\{\{([a-z_]+)\}\}`).FindAllStringSubmatch(target.LegendFormat, -1) {
				if !strings.Contains(target.Expr, label[1]) && label[1] != "instance" {
					t.Errorf("%s: the legend has the label %s, and the expression has not", p.Title, label[1])
				}
			}
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s lies over %s", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}
