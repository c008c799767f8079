//go:build services

package handset_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/einmal/einmal/internal/app"
)

// gateway is a running one with its admin key.
type gateway struct {
	*app.App
	t   *testing.T
	key string
}

func startGateway(t *testing.T) *gateway {
	t.Helper()
	c, err := app.Load("", app.Flags{Listen: "127.0.0.1:0", Data: filepath.Join(t.TempDir(), "data")})
	must(t, err)
	g := &gateway{App: app.New(c, slog.New(slog.DiscardHandler)), t: t}
	must(t, g.Start(context.Background()))
	t.Cleanup(func() { must(t, g.Stop(context.Background())) })
	key, err := os.ReadFile(g.AdminKeyFile())
	must(t, err)
	g.key = strings.TrimSpace(string(key))
	return g
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// post submits a message.
func (g *gateway) post(body map[string]any) {
	g.t.Helper()
	raw, err := json.Marshal(body)
	must(g.t, err)
	r, err := http.NewRequest(http.MethodPost, "http://"+g.Addr()+"/v1/messages", bytes.NewReader(raw))
	must(g.t, err)
	r.Header.Set("Authorization", "Bearer "+g.key)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	must(g.t, err)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusCreated {
		g.t.Fatalf("status %d", res.StatusCode)
	}
}

// browser is a tab of a real Chromium.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	asked    []string // URLs
	problems []string // what the browser complains of: a refused script or style, say
}

func openBrowser(t *testing.T) *browser {
	t.Helper()
	program := os.Getenv("EINMAL_TEST_CHROMIUM")
	if program == "" {
		t.Fatal("EINMAL_TEST_CHROMIUM names no browser: run make test, or set it to the program of Chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium refuses to run as root with it
	}
	allocated, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocated)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, time.Minute)
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx}
	must(t, chromedp.Listen(ctx, b.hear))
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	must(t, err)
	return b
}

func (b *browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.asked = append(b.asked, e.Request.URL)
	case *log.EventEntryAdded:
		if e.Entry.Source != log.EntrySourceNetwork { // a refused key is an answer like any other
			b.problems = append(b.problems, e.Entry.Text)
		}
	}
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	must(b.t, chromedp.Do(b.ctx, actions...))
}

// sees waits until the page's text holds something.
func (b *browser) sees(text string) {
	b.t.Helper()
	_, err := chromedp.Run(b.ctx, chromedp.Poll[bool](fmt.Sprintf("document.body.innerText.includes(%q)", text)))
	if err != nil {
		b.t.Fatalf("the page does not say %q: %v", text, err)
	}
}

// value evaluates an expression.
func value[T any](b *browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	must(b.t, err)
	return v
}

func (b *browser) screenshot(name string) {
	b.t.Helper()
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	must(b.t, err)
	must(b.t, os.WriteFile(filepath.Join(b.t.ArtifactDir(), name+".png"), png, 0o600)) // kept with go test -artifacts
}

// contrast is the ratio of an element's colours as WCAG 2.2 has it (1.4.3), its ground being the first ancestor's
// that is not transparent.
const contrast = `(selector) => {
  const light = (c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  const luminance = (rgb) => { const [r, g, b] = rgb.match(/[\d.]+/g).map(Number).map(light); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const element = document.querySelector(selector);
  let under = element;
  while (under && /rgba\(.*, 0\)|transparent/.test(getComputedStyle(under).backgroundColor)) under = under.parentElement;
  const two = [luminance(getComputedStyle(element).color), luminance(getComputedStyle(under).backgroundColor)].sort((a, b) => b - a);
  return (two[0] + 0.05) / (two[1] + 0.05);
}`

// The page as a developer uses it: a phone's width, the keyboard alone, in light and in dark.
//
// covers: D15, X2
func TestTheHandsetPageInABrowser(t *testing.T) {
	g, b := startGateway(t), openBrowser(t)
	const number = "+12025550120"
	page := "http://" + g.Addr() + "/handset/" + number
	b.do(chromedp.EmulateViewport(360, 640), chromedp.Navigate(page))
	b.sees("API key")
	b.do(chromedp.SendKeys(chromedp.CSS("#key-text"), g.key[:len(g.key)-1]+kb.Enter)) // it has the focus
	b.sees("No valid API key")
	b.do(chromedp.SendKeys(chromedp.CSS("#key-text"), g.key+kb.Enter))
	b.sees("Nothing received yet")

	send := func(event, sender, text string) {
		g.post(map[string]any{"to": number, "purpose": "login_code", "event": map[string]any{"id": event, "version": "1"}, "sender": sender, "text": text})
	}
	send("1", "SHOP", "739152 is your code. <b>Not bold</b>")
	b.sees("739152 is your code. <b>Not bold</b>") // as text, and without asking again
	send("2", "4711", "Your parcel comes today. Answer STOP to hear no more.")
	b.sees("Your parcel comes today")

	b.do(chromedp.KeyEvent(kb.Tab), chromedp.Focus(chromedp.CSS("#text")), chromedp.KeyEvent("STOP"+kb.Enter))
	b.sees("The gateway has stored it")
	if to := value[string](b, `document.querySelector("#messages li.sent").innerText`); !strings.Contains(to, "STOP") || !strings.Contains(to, "to 4711") {
		t.Errorf("the answer is shown as %q", to)
	}
	b.checkLooks()
	b.checkKeeping(g, number)
}

// checkLooks compares light and dark, and looks for what does not fit.
func (b *browser) checkLooks() {
	b.t.Helper()
	grounds := map[string]string{}
	for _, scheme := range []string{"light", "dark"} {
		_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		must(b.t, err)
		for _, width := range []int64{320, 360} {
			b.do(chromedp.EmulateViewport(width, 640))
			if wide := value[int64](b, "document.documentElement.scrollWidth"); wide > width {
				b.t.Errorf("%s, %d pixels: the page is %d wide", scheme, width, wide)
			}
			if !value[bool](b, `document.querySelector("#answer button").getBoundingClientRect().bottom <= innerHeight`) {
				b.t.Errorf("%s, %d pixels: the button is below the screen", scheme, width)
			}
		}
		for _, selector := range []string{"h1", "header p", "#messages li .text", "#messages li .when", "#messages li.sent .text", "#answer label", "#answer button", "#happened", "#text"} {
			if ratio := value[float64](b, "("+contrast+")("+fmt.Sprintf("%q", selector)+")"); ratio < 4.5 {
				b.t.Errorf("%s: the contrast of %s is %.1f, less than 4.5", scheme, selector, ratio)
			}
		}
		grounds[scheme] = value[string](b, "getComputedStyle(document.body).backgroundColor")
		b.screenshot(scheme)
	}
	if grounds["light"] == grounds["dark"] {
		b.t.Errorf("dark is as light: %v", grounds)
	}
}

// checkKeeping: the key stays in the tab and goes nowhere but to the gateway, in a header; another tab asks again.
func (b *browser) checkKeeping(g *gateway, number string) {
	b.t.Helper()
	if kept := value[string](b, `sessionStorage.getItem("einmal.key")`); kept != g.key {
		b.t.Error("the tab does not keep the key")
	}
	if elsewhere := value[string](b, `document.cookie + JSON.stringify(localStorage) + location.href + document.documentElement.outerHTML`); strings.Contains(elsewhere, g.key) {
		b.t.Error("the key is kept elsewhere, too")
	}
	b.mu.Lock()
	for _, url := range b.asked {
		if !strings.HasPrefix(url, "http://"+g.Addr()+"/") || strings.Contains(url, g.key) {
			b.t.Errorf("the browser asked for %s", strings.ReplaceAll(url, g.key, "KEY"))
		}
	}
	if len(b.problems) > 0 {
		b.t.Errorf("the browser complains: %q", b.problems)
	}
	b.mu.Unlock()
	other := openBrowser(b.t)
	other.do(chromedp.Navigate("http://" + g.Addr() + "/handset/" + number))
	other.sees("API key")
	if text := value[string](other, "document.body.innerText"); strings.Contains(text, "739152") {
		b.t.Error("another browser sees the messages without a key")
	}
}
