package markup

import (
	"bytes"
	"html/template"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

type word string

type part struct{ Name string }

func (p part) Greet(greeting string) string { return greeting + " " + p.Name }
func (p *part) Loud() string                { return strings.ToUpper(p.Name) }

type page struct {
	part
	Title, Evil, Link string
	Word              word
	Parts, Empty      []part
	Pointers          []*part
	None              *part
	Any               any
	Number            int
	Cost              float64
	Yes               bool
	Zero              time.Time
}

func (p *page) Sum(a, b int) int { return a + b }

func example() *page {
	return &page{part: part{"whole"}, Title: "a & b", Evil: `"><script>'+alert(1)` + "\x00", Link: "/a b/ü?q=<1>&x='\"", Word: "w", Number: 3, Cost: 0.5,
		Parts: []part{{"x"}, {"y"}}, Pointers: []*part{{"p"}}, Any: []string{"i", "j"}, Yes: true}
}

var language = Language{
	Functions: Table{
		"up":   strings.ToUpper,
		"bold": func(s string) HTML { return HTML("<b>" + s + "</b>") },
		"half": func(f float64) float64 { return f / 2 },
	},
	Methods: Table{
		"Greet":  func(v interface{ Greet(string) string }, greeting string) string { return v.Greet(greeting) },
		"Loud":   func(p *part) string { return p.Loud() },
		"Sum":    func(p *page, a, b int) int { return p.Sum(a, b) },
		"IsZero": func(t time.Time) bool { return t.IsZero() },
	},
}

func render(text string, data any) (string, error) {
	t, err := language.Parse(fstest.MapFS{"page.html": {Data: []byte(text)}}, "page.html")
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = t.Execute(&b, "page.html", data)
	return b.String(), err
}

// TestRendersAsTheStandardLibrary holds for what our pages use.
func TestRendersAsTheStandardLibrary(t *testing.T) {
	t.Parallel()
	functions := template.FuncMap{"bold": func(s string) template.HTML { return template.HTML("<b>" + s + "</b>") }}
	for _, name := range []string{"up", "half"} {
		functions[name] = language.Functions[name]
	}
	for _, text := range []string{
		`<p>{{.Title}} {{.Evil}} {{.Number}} {{.Cost}} {{.Yes}} {{.Word}} {{.Name}}</p>`,
		`<p title="{{.Evil}}" id='x-{{.Title}}'>{{up .Title}}{{bold "x"}}</p>`,
		`<a href="{{.Link}}">x</a> <form action="/p/{{.Title}}/x" class="{{if .Yes}}a{{else}}b{{end}}"></form>`,
		`{{range .Parts}}{{.Name}},{{end}}{{range $i, $p := .Pointers}}{{$i}} {{$p.Name}} {{$.Title}}{{end}}{{range .Any}}<i>{{.}}</i>{{end}}`,
		`{{range $p := .Parts}}{{$p.Name}}{{end}}{{range .Empty}}{{else}}none{{end}}`,
		`{{with .None}}x{{else}}y{{end}}{{with $n := .Number}}{{$n}} {{.}}{{end}}{{with .Any}}{{len .}}{{end}}`,
		`{{if and .Yes .Number}}1{{end}}{{if or .None .Title}}2{{end}}{{or .None "" .Title}}{{if not .Yes}}3{{else if eq .Word "w"}}4{{end}}`,
		`{{if ne .Title "x"}}1{{end}}{{if gt .Number 2}}2{{end}}{{if le (len .Parts) 2}}3{{end}}{{printf "%.2f %s" .Cost .Title}}{{half 1}}`,
		`{{.Greet "hi"}}{{range .Parts}}{{.Greet "ho"}}{{.Loud}}{{end}}{{.Sum 1 2}}{{if .Zero.IsZero}}zero{{end}}{{(.Greet "x")}}`,
		`{{define "d"}}<u>{{.Name}}{{$.Name}}</u>{{end}}{{template "d" .}}{{$x := .Title}}{{if .Yes}}{{$y := "y"}}{{$y}}{{end}}{{$x}}{{/* nothing */}}`,
		`<td data-live="{{.Number}}"{{if .Yes}} open{{end}}>{{- .Title -}} </td>`,
	} {
		got, err := render(text, example())
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var want strings.Builder
		if err := template.Must(template.New("").Funcs(functions).Parse(text)).Execute(&want, example()); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got != want.String() {
			t.Errorf("%s:\n%s\nwant\n%s", text, got, want.String())
		}
	}
}

func TestRefusesWhatIsNotSafe(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`<a href="{{.Evil}}">`:                "does not begin with a single /",
		`<a href="{{"//example.com"}}">`:      "does not begin with a single /",
		`<img src='{{"javascript:x"}}'>`:      "does not begin with a single /",
		`<p onclick="{{.Title}}">`:            "in the attribute onclick",
		`<p STYLE="{{.Title}}">`:              "in the attribute style",
		`<p title={{.Title}}>`:                "inside the quotes",
		`<p {{.Title}}="x">`:                  "inside the quotes",
		`<p "{{.Title}}">`:                    "in the tag of p",
		`<!-- {{.Title}} -->`:                 "comments are not supported",
		`<script>{{.Title}}</script>`:         "in the element script",
		`<style media="x">{{.Title}}</style>`: "in the element style",
		`<p title="{{bold .Title}}">`:         "markup is not allowed in an attribute",
		`<title>{{bold .Title}}</title>`:      "in the element title",

		// What looks like another place.
		`<a title="a > b" href="{{"javascript:x"}}">`: "does not begin with a single /",
		"<a\thref=\"{{\"javascript:x\"}}\">":          "does not begin with a single /",
		`<a/href="{{"javascript:x"}}">`:               "does not begin with a single /",
		`<a title="'" HREF='{{"javascript:x"}}'>`:     "does not begin with a single /",
		`<a title=x href="{{"javascript:x"}}">`:       "does not begin with a single /",
		`<a href="/{{"/example.com"}}">`:              "does not begin with a single /",
		`<a href="{{"/"}}/example.com">x</a>`:         "does not begin with a single /",
		`<a href="/{{""}}/example.com">x</a>`:         "does not begin with a single /",
		`<a href="java{{"script:x"}}">`:               "does not begin with a single /",
		`<a href="&#47;{{"/example.com"}}">`:          "does not begin with a single /",
		"<a href=\"/\t{{\"/example.com\"}}\">":        "does not begin with a single /",
		`<script>if(a<b && c>0){ y = {{.Number}} }`:   "is not supported",
		`<script>if(c>0){ y = {{.Number}} }`:          "in the element script",
		`<script title=">">{{.Number}}</script>`:      "in the element script",
		`<!--><script>-->{{.Number}}`:                 "comments are not supported",
		`<p hx-on:click="{{.Title}}">`:                "in the attribute hx-on:click",
		`<p hx-vals='{{.Title}}'>`:                    "in the attribute hx-vals",
		`<p data-hx-get="{{.Title}}">`:                "in the attribute data-hx-get",
		`<iframe srcdoc="{{.Title}}">`:                "is not supported",
		`<p srcdoc="{{.Title}}">`:                     "in the attribute srcdoc",
		`<object data="{{.Title}}">`:                  "in the attribute data",
		`<use xlink:href="{{.Title}}">`:               "in the attribute xlink:href",
		`<button formaction="{{.Link}}">`:             "in the attribute formaction",
		`<p title = "{{.Title}}">`:                    "in the tag of p",
		`<p title= "{{.Title}}">`:                     "in the value of title",
		`<svg><style>{{.Title}}</style></svg>`:        "in the element svg",
		`<p title="x`:                                 "ends inside the element p",
		`{{bold "<p title="}}{{.Title}}`:              "in the value of title",
		`{{.Nothing}}`:                                "no field or method Nothing",
		`{{.None.Name}}`:                              "Name of nil",
		`{{.Title.Greet "x"}}`:                        "no method Greet",
		`{{up .Number}}`:                              "int is not a string",
		`{{up}}`:                                      "0 arguments",
		`{{template "x"}}`:                            "does not exist",
		`{{range .Number}}{{end}}`:                    "not a list",
		`{{.Title | up}}`:                             "| is not supported",
	} {
		if got, err := render(text, example()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v, want %s", text, got, err, want)
		}
	}
	if _, err := render(`{{missing}}`, nil); err == nil {
		t.Error("a function that does not exist was accepted")
	}
}
