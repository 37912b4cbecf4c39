package backup

// checkOwn accepts every directory: Windows has no mode bits.
func checkOwn(string) error { return nil }
