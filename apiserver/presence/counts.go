package presence

// A Count counts agents of a model.
type Count struct {
	Present   int // connected, and not silent for longer than LostAfter
	FullDisks int // of present ones, those of machines whose disk is full or nearly so
}

// Counts counts the agents that some controller has, by model.
func (p *Recorder) Counts() map[string]Count {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, counts := map[key]bool{}, map[string]Count{}
	count := func(key key) {
		if known[key] {
			return
		}
		known[key] = true
		a := p.find(key)
		if !a.Connected || !a.Away.IsZero() && p.now().Sub(a.Away) > LostAfter {
			return
		}
		of := counts[key.model]
		of.Present++
		if !a.Disk.IsZero() {
			of.FullDisks++
		}
		counts[key.model] = of
	}
	for key := range p.agents {
		count(key)
	}
	for _, one := range p.peers {
		for key := range one.agents {
			count(key)
		}
	}
	return counts
}
