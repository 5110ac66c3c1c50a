package limits

import (
	"slices"

	"juju/state/entity"
)

// checkSecretChanges returns an Invalid error for changes to secrets that can't be stored, whatever is stored.
func checkSecretChanges(c *entity.SecretChanges) error {
	if c == nil {
		return nil
	}
	n := len(c.Create) + len(c.Update) + len(c.Remove) + len(c.Grant) + len(c.Revoke) + len(c.Track)
	if err := HookSecrets.Check(n); err != nil {
		return err
	}
	for _, s := range c.Create {
		if err := checkSecret(s.ID, s.SecretSettings); err != nil {
			return err
		}
	}
	for _, s := range c.Update {
		if err := checkSecret(s.ID, s.SecretSettings); err != nil {
			return err
		}
	}
	for _, r := range c.Remove {
		if err := checkSecretID(r.ID); err != nil {
			return err
		}
	}
	for _, g := range c.Grant {
		if err := checkSecretSubject(g.ID, g.Subject); err != nil {
			return err
		}
	}
	for _, r := range c.Revoke {
		if err := checkSecretSubject(r.ID, r.Subject); err != nil {
			return err
		}
	}
	for _, t := range c.Track {
		if err := checkSecretID(t.ID); err != nil {
			return err
		}
		if err := checkSecretText(&t.Label); err != nil {
			return err
		}
	}
	if c.Told != nil {
		return checkSecretID(c.Told.ID)
	}
	return nil
}

// checkSecretID bounds an ID. One that is no secret's is not found later.
func checkSecretID(id string) error { return Name.CheckText(id) }

func checkSecretSubject(id, subject string) error {
	if err := Name.CheckText(subject); err != nil {
		return err
	}
	return checkSecretID(id)
}

func checkSecret(id string, s entity.SecretSettings) error {
	if err := CheckSecretSettings(s); err != nil {
		return err
	}
	return checkSecretID(id)
}

// CheckSecretSettings returns an Invalid error for what an owner can't set of a secret.
func CheckSecretSettings(s entity.SecretSettings) error {
	for _, text := range []*string{s.Label, s.Description} {
		if err := checkSecretText(text); err != nil {
			return err
		}
	}
	if s.Rotate != nil && *s.Rotate != "" {
		if err := s.Rotate.Check(); err != nil {
			return err
		}
	}
	if len(s.Content) > 0 {
		if err := s.Content.Check(); err != nil {
			return err
		}
	}
	if s.Expire != nil {
		if year := s.Expire.UTC().Year(); year < 1 || year > 9999 { // others have no form in JSON
			return entity.Errorf(entity.Invalid, "a secret cannot expire in the year %d", year)
		}
	}
	return nil
}

func checkSecretText(text *string) error {
	if text == nil {
		return nil
	}
	if err := CheckPlain("label or description of a secret", *text); err != nil {
		return err
	}
	return SecretText.CheckText(*text)
}

// CheckShared returns an Invalid error unless a relation can have such secrets with another model: revisions by ID.
func CheckShared(secrets map[string][]int) error {
	if err := SharedSecrets.Check(len(secrets)); err != nil {
		return err
	}
	revisions := 0
	for id, numbers := range secrets {
		if !entity.IsValidSecretID(id) {
			return entity.Errorf(entity.Invalid, "%q is not the ID of a secret", Name.Cut(id))
		}
		if slices.ContainsFunc(numbers, func(n int) bool { return n < 1 }) {
			return entity.Errorf(entity.Invalid, "secret %s has no revision below 1", id)
		}
		revisions += len(numbers)
	}
	return SharedRevisions.Check(revisions)
}
