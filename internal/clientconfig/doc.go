// Package clientconfig reads other programs' config files, with care: where
// each MCP client keeps its servers (table.go, places.go), what they say (read.go), what
// the client will stumble over (lint*.go), and how an entry is written for it
// (render.go) or wrapped (wrap.go). It decides; writing to disk is for others.
package clientconfig
