// Package clientconfig handles other programs' config files with care.
//
//	client.go, table.go   what is known of each MCP client: places, keys, names, dialect
//	places.go             where the files are on this machine
//	read.go, entry.go     a file -> its servers; spec.go: as the client would start them
//	lint*.go, across.go   what the client will stumble over; problem.go has the words
//	mend.go, edit.go      fixes, as changes that leave all other bytes alone
//	render.go, add.go     an entry as the client wants it, into its file and out
//	wrap*.go              gauze run in front of a server, and out again, byte for byte
//
// It decides, and changes nothing on disk.
package clientconfig
