package main

// stateful are the servers that keep something from one call to the next, or work on what a client points them to, so
// that they are not shared by default whatever is measured.
var stateful = map[string]string{
	"npm:@modelcontextprotocol/server-everything":          "subscriptions and simulated logs",
	"npm:@modelcontextprotocol/server-filesystem":          "directories that each client allows (roots)",
	"npm:@modelcontextprotocol/server-memory":              "a graph in memory and in a file",
	"npm:@modelcontextprotocol/server-sequential-thinking": "the thoughts so far",
	"npm:@modelcontextprotocol/server-postgres":            "a connection",
	"npm:@modelcontextprotocol/server-puppeteer":           "a browser",
	"npm:@playwright/mcp":                                  "a browser",
	"npm:chrome-devtools-mcp":                              "a browser",
	"npm:@wonderwhy-er/desktop-commander":                  "terminals",
	"npm:mongodb-mcp-server":                               "a connection",
	"npm:mcp-server-kubernetes":                            "a context and port forwards",
	"npm:@azure/mcp":                                       "a login",
	"pypi:mcp-server-git":                                  "directories that each client allows (roots)",
	"pypi:mcp-server-sqlite":                               "a connection and a memo",
	"pypi:redis-mcp-server":                                "a connection",
	"pypi:excel-mcp-server":                                "files that are written",
	"pypi:awslabs.core-mcp-server":                         "servers of its own",
	"pypi:elevenlabs-mcp":                                  "files that are written",
	"pypi:arxiv-mcp-server":                                "files that are written",
}

// further are arguments with which servers work without a network.
var further = map[string][]string{"pypi:mcp-server-fetch": {"--allow-private-ips"}}
