package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
)

// summary is the description in lists of servers. The MCP registry accepts 100 characters.
const summary = "Finds out why MCP servers fail, repairs their configuration, and keeps them working."

// server is server.json, as the MCP registry reads it.
type server struct {
	Schema      string          `json:"$schema"`
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Version     string          `json:"version"`
	Website     string          `json:"websiteUrl"`
	Repository  map[string]any  `json:"repository"`
	Packages    []serverPackage `json:"packages"`
}

// serverPackage is one way to run gauze mcp.
type serverPackage struct {
	Type       string     `json:"registryType"`
	Identifier string     `json:"identifier"`
	Version    string     `json:"version,omitempty"`
	Hint       string     `json:"runtimeHint,omitempty"`
	Sum        string     `json:"fileSha256,omitempty"`
	Transport  transport  `json:"transport"`
	Arguments  []argument `json:"packageArguments,omitempty"`
}

type transport struct {
	Type string `json:"type"`
}

type argument struct {
	Type  string `json:"type"`
	Name  string `json:"name,omitempty"`
	Value string `json:"value,omitempty"`
}

const serverSchema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

// registryEntry writes server.json, which lists the packages of this release. The registry reads each of them before it
// accepts the file, so they are published first.
func registryEntry(_ context.Context, r *release) error {
	python, err := pypiVersion(r.version)
	if err != nil {
		return err
	}
	stdio, mcp := transport{"stdio"}, []argument{{Type: "positional", Value: "mcp"}}
	s := server{
		Schema: serverSchema, Name: registryName, Title: "Gauze", Description: summary, Version: r.version,
		Website: homepage, Repository: map[string]any{"url": homepage, "source": "github"},
		Packages: []serverPackage{
			{Type: "npm", Identifier: "gauze-mcp", Version: npmVersion(r.version), Hint: "npx", Transport: stdio, Arguments: mcp},
			{Type: "pypi", Identifier: "gauze-mcp", Version: python, Hint: "uvx", Transport: stdio, Arguments: mcp},
			{Type: "oci", Identifier: imageName + ":" + image{}.tag(r.version), Hint: "docker", Transport: stdio, Arguments: mcp},
		},
	}
	for _, cpu := range r.cpus() {
		file := bundleFile(r.version, cpu)
		content, err := os.ReadFile(filepath.Join(r.dir, "bundles", file))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		s.Packages = append(s.Packages, serverPackage{Type: "mcpb", Transport: stdio, Sum: hex.EncodeToString(sum[:]),
			Identifier: homepage + "/releases/download/v" + r.version + "/" + file})
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return r.write("registry/server.json", append(text, '\n'))
}
