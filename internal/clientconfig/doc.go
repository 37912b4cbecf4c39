// Package clientconfig reads, checks and edits the configuration files of MCP clients.
//
//	client.go, table.go   facts about each client: files, keys, field names, references
//	places.go             where the files are on this machine
//	read.go, entry.go     from a file to its servers; spec.go: as the client starts them
//	lint*.go, across.go   problems that a client will have; problem.go has the texts
//	mend.go, edit.go      fixes, as edits that leave all other bytes unchanged
//	render.go, add.go     writing an entry in the client's format, and removing it
//	wrap*.go              running a server through gauze run, and the exact reverse
//
// It computes edits and writes nothing to disk.
package clientconfig
