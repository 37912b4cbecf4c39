// Package clientconfig reads, checks and edits the configuration files of MCP clients.
//
//	client.go, clients/   facts about each client: files, keys, field names, references
//	data.go, common.go    how these files are read; what is true of all clients (common.txt)
//	places.go             where the files are on this machine
//	read.go, entry.go     from a file to its servers; spec.go: as the client starts them
//	lint*.go, across.go   problems that a client will have; problems.txt has the texts
//	approval.go           which of a project's servers the user approved in the client
//	mend.go, edit.go      fixes, as edits that leave all other bytes unchanged
//	render.go             an entry in the client's format
//	rewrite.go            adding, removing and changing an entry
//	wrap*.go              running a server through gauze run, and the exact reverse
//	move.go, up.go        a server outside of its client's file, and the file of gauze up as a client's
//
// To add a client, write clients/ID.txt, and a file of it in testdata/clients/ID.txtar; go test -update
// adds what gauze makes of it. docs/clients.md describes how. Nothing else names a client.
//
// It computes edits and writes nothing to disk.
package clientconfig
