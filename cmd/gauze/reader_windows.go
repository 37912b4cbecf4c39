package main

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// readerGone reports whether the other end of a pipe is closed.
func readerGone(f *os.File) bool {
	const (
		pipeLocalInformation = 24 // FilePipeLocalInformation
		connected            = 3  // FILE_PIPE_CONNECTED_STATE
	)
	var info struct { // FILE_PIPE_LOCAL_INFORMATION
		kind, configuration, maxInstances, instances                   uint32
		inQuota, readAvailable, outQuota, writeAvailable, state, which uint32
	}
	var status windows.IO_STATUS_BLOCK
	err := windows.NtQueryInformationFile(windows.Handle(f.Fd()), &status, (*byte)(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), pipeLocalInformation)
	return err == nil && info.state != connected
}
