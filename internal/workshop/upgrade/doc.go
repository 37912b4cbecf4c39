// Package upgrade replaces the program gauze with another release of it. fetch.go gets files from the release
// address, verify.go believes only what the release key has signed, unpack.go takes the program out of its archive,
// replace.go puts it in the place of the installed one, and watch.go checks once a day whether there is a newer one.
//
// Trust begins with the key in the running program. It verifies SHA256SUMS; SHA256SUMS names the version and verifies the archive;
// only a verified archive is unpacked, and only a program that runs and reports that version is installed.
package upgrade
