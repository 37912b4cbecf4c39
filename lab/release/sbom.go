package main

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

// The part of CycloneDX 1.5 that is used here.
type (
	bom struct {
		Format       string          `json:"bomFormat"`
		SpecVersion  string          `json:"specVersion"`
		Serial       string          `json:"serialNumber,omitempty"`
		Version      int             `json:"version"`
		Metadata     bomMetadata     `json:"metadata"`
		Components   []bomComponent  `json:"components"`
		Dependencies []bomDependency `json:"dependencies"`
	}
	bomMetadata struct {
		Timestamp string       `json:"timestamp"`
		Component bomComponent `json:"component"`
	}
	bomComponent struct {
		Type       string       `json:"type"`
		Ref        string       `json:"bom-ref"`
		Name       string       `json:"name"`
		Version    string       `json:"version"`
		Hashes     []bomHash    `json:"hashes,omitempty"`
		Licenses   []bomLicense `json:"licenses,omitempty"`
		PURL       string       `json:"purl"`
		Properties []bomValue   `json:"properties,omitempty"`
	}
	bomHash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	bomLicense struct {
		Expression string `json:"expression"`
	}
	bomValue struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	bomDependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn,omitempty"`
	}
)

// sbom writes a software bill of materials for each binary, from what Go recorded in it: *.cdx.json.
func sbom(_ context.Context, r *release) error {
	for _, p := range released {
		for _, t := range r.targets {
			materials, err := r.materials(p, t)
			if err != nil {
				return err
			}
			text, err := json.MarshalIndent(materials, "", "  ")
			if err != nil {
				return err
			}
			if err := r.write(r.artefact(p, t)+".cdx.json", append(text, '\n')); err != nil {
				return err
			}
		}
	}
	return nil
}

// materials lists every module of a binary, and the Go release that compiled it.
func (r *release) materials(p program, t target) (bom, error) {
	file := r.binary(p, t)
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return bom{}, err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return bom{}, err
	}
	sum := sha256.Sum256(content)
	self := moduleComponent("application", info.Main.Path, "v"+r.version)
	self.Name, self.Hashes = p.name, []bomHash{{"SHA-256", hex.EncodeToString(sum[:])}}
	self.Licenses = []bomLicense{{license}}
	self.Properties = []bomValue{{"go:os", t.os}, {"go:arch", t.arch}, {"git:commit", r.commit}}
	materials := bom{Format: "CycloneDX", SpecVersion: "1.5", Version: 1,
		Metadata: bomMetadata{r.date.UTC().Format(time.RFC3339), self}}
	parts := []bomComponent{moduleComponent("library", "stdlib", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, module := range info.Deps {
		parts = append(parts, r.component(module))
	}
	of := bomDependency{Ref: self.Ref}
	for _, part := range parts {
		of.DependsOn = append(of.DependsOn, part.Ref)
	}
	materials.Components, materials.Dependencies = parts, []bomDependency{of}
	materials.Serial, err = serial(materials)
	return materials, err
}

// component describes a module as it was compiled: its replacement, if it has one. A replacement in this
// repository has the version of the release.
func (r *release) component(module *debug.Module) bomComponent {
	used := module
	if module.Replace != nil {
		used = module.Replace
	}
	if strings.HasPrefix(used.Path, ".") {
		return moduleComponent("library", module.Path, "v"+r.version)
	}
	c := moduleComponent("library", used.Path, used.Version)
	if used.Sum != "" {
		c.Properties = []bomValue{{"go:sum", used.Sum}}
	}
	return c
}

func moduleComponent(kind, path, version string) bomComponent {
	purl := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return bomComponent{Type: kind, Ref: purl, Name: path, Version: version, PURL: purl}
}

// serial derives the number of the document from its content, in the form of a UUID (version 8).
func serial(materials bom) (string, error) {
	text, err := json.Marshal(materials)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]), nil
}
