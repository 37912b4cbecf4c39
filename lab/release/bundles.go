package main

import (
	"context"
	"encoding/json"
	"slices"
)

// bundleManifest is that of a bundle: what Claude Desktop shows, and how it starts the server.
type bundleManifest struct {
	Version       string         `json:"manifest_version"`
	Name          string         `json:"name"`
	Title         string         `json:"display_name"`
	Release       string         `json:"version"`
	Description   string         `json:"description"`
	About         string         `json:"long_description"`
	Author        map[string]any `json:"author"`
	Repository    map[string]any `json:"repository"`
	Homepage      string         `json:"homepage"`
	License       string         `json:"license"`
	Keywords      []string       `json:"keywords"`
	Generated     bool           `json:"tools_generated"` // the tools are those that the server lists
	Server        bundled        `json:"server"`
	Compatibility struct {
		Platforms []string `json:"platforms"`
	} `json:"compatibility"`
}

type bundled struct {
	Type   string `json:"type"`
	Entry  string `json:"entry_point"`
	Config struct {
		Command   string              `json:"command"`
		Args      []string            `json:"args"`
		Overrides map[string]override `json:"platform_overrides,omitempty"`
	} `json:"mcp_config"`
}

type override struct {
	Command string `json:"command"`
}

// bundles writes one bundle of gauze mcp for each CPU, with the program for every system: a manifest can choose by
// system, not by CPU.
func bundles(_ context.Context, r *release) error {
	for _, cpu := range r.cpus() {
		packed, err := mcpb(r, cpu)
		if err != nil {
			return err
		}
		if err := r.write("bundles/"+bundleFile(r.version, cpu), packed); err != nil {
			return err
		}
	}
	return nil
}

func bundleFile(version, cpu string) string { return "gauze_" + version + "_" + cpu + ".mcpb" }

// cpus are those of the targets.
func (r *release) cpus() (names []string) {
	for _, t := range r.targets {
		names = append(names, t.arch)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func mcpb(r *release, cpu string) ([]byte, error) {
	m := bundleManifest{
		Version: "0.3", Name: "gauze", Title: "Gauze", Release: r.version,
		Description: summary,
		About: "Gauze finds out why MCP servers do not work, repairs their configuration, and runs them so that sessions survive " +
			"crashes and hangs. Before it changes a file or runs a new command, you confirm the exact change.",
		Author:     map[string]any{"name": "The Gauze authors", "url": homepage},
		Repository: map[string]any{"type": "git", "url": homepage + ".git"},
		Homepage:   homepage, License: license,
		Keywords: []string{"mcp", "doctor", "reliability", "diagnosis"}, Generated: true,
	}
	m.Server.Type, m.Server.Config.Args = "binary", []string{"mcp"}
	m.Server.Config.Overrides = map[string]override{}
	var files []entry
	for _, t := range r.targets {
		if t.arch != cpu {
			continue
		}
		system := map[string]string{"windows": "win32"}[t.os] // in Node's words
		if system == "" {
			system = t.os
		}
		program, err := fileEntry("server/"+system+"/"+t.exe("gauze"), 0o755, r.binary(released[0], t))
		if err != nil {
			return nil, err
		}
		files = append(files, program)
		command := "${__dirname}/" + program.name
		if m.Server.Entry == "" {
			m.Server.Entry, m.Server.Config.Command = program.name, command
		}
		m.Server.Config.Overrides[system] = override{command}
		m.Compatibility.Platforms = append(m.Compatibility.Platforms, system)
	}
	described, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	papers, err := fileEntry("LICENSE", 0o644, r.root+"/LICENSE")
	if err != nil {
		return nil, err
	}
	return zipped(r.date, append(files, papers, entry{"manifest.json", 0o644, append(described, '\n')}))
}
