package main

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed manifests
var manifestFiles embed.FS

var manifestTemplates = template.Must(template.New("").Funcs(template.FuncMap{"upper": strings.ToUpper}).
	ParseFS(manifestFiles, "manifests/*"))

// manifest is what a package manager that downloads the archives reads: Homebrew, winget or scoop.
type manifest struct {
	file    string // also the name of its template
	systems []string
}

var manifestList = []manifest{
	{"gauze.rb", []string{"darwin", "linux"}},
	{"GauzeMCP.Gauze.yaml", []string{"windows"}},
	{"GauzeMCP.Gauze.installer.yaml", []string{"windows"}},
	{"GauzeMCP.Gauze.locale.en-US.yaml", []string{"windows"}},
	{"gauze.json", []string{"windows"}},
}

// download is an archive as the manifests name it.
type download struct{ URL, File, SHA256 string }

// manifests writes the Homebrew formula, the three files of winget, and the scoop manifest, each with the
// sums of the archives. A file whose systems are not all made is left out.
func manifests(_ context.Context, r *release) error {
	archives := map[string]download{}
	for _, t := range r.targets {
		name := r.archive(released[0], t)
		sum, err := sumOf(filepath.Join(r.dir, name))
		if err != nil {
			return fmt.Errorf("%w\nnext: make the archives first", err)
		}
		archives[t.String()] = download{fmt.Sprintf("%s/releases/download/v%s/%s", homepage, r.version, name), name, sum}
	}
	values := map[string]any{"Version": r.version, "Date": r.date.UTC().Format("2006-01-02"), "About": about,
		"Homepage": homepage, "License": license, "Archives": archives}
	for _, m := range manifestList {
		if !m.possible(archives) {
			continue
		}
		var text bytes.Buffer
		if err := manifestTemplates.ExecuteTemplate(&text, m.file, values); err != nil {
			return err
		}
		if err := r.write(m.file, text.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// possible reports whether there is an archive for both CPUs of each system.
func (m manifest) possible(archives map[string]download) bool {
	for _, system := range m.systems {
		for _, cpu := range []string{"amd64", "arm64"} {
			if archives[system+"/"+cpu].SHA256 == "" {
				return false
			}
		}
	}
	return true
}
