// The room's first stone; replaced as it is furnished.
