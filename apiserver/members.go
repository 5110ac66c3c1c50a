package apiserver

import (
	"strings"

	"juju/apiserver/admission"
	"juju/apiserver/facades"
	"juju/state/controller"
	"juju/state/entity"
)

// admit counts a connection of who has logged in, until leave is called. It returns Unavailable if there are too many. The
// controller's own connections are unlimited.
func (s *Server) admit(model string, id identity) (leave func(), err error) {
	if id.Roles&facades.ControllerAgent != 0 {
		return func() {}, nil
	}
	leave, err = s.members.Enter(memberOf(model, id), kindOf(id))
	if err != nil {
		s.config.Meter.LoginRefused(refusedFull)
	}
	return leave, err
}

// admitWatch counts a watch until leave is called. It returns Unavailable if who has logged in has too many.
func (s *Server) admitWatch(model string, id identity) (leave func(), err error) {
	if id.Roles&facades.ControllerAgent != 0 {
		return func() {}, nil
	}
	return s.members.Watch(memberOf(model, id))
}

// kindOf returns the kind of member that an identity is counted as.
func kindOf(id identity) admission.Kind {
	switch {
	case id.ControllerAccess == controller.AccessSuperuser:
		return admission.Superusers
	case id.Tag.Kind == entity.KindUser:
		return admission.Users
	case id.Tag.Kind == entity.KindMachine:
		return admission.MachineAgents
	case id.Tag.Kind == entity.KindConsumer:
		return admission.Consumers
	}
	return admission.UnitAgents
}

// memberOf returns the member that an identity is counted as in a model ("" for the controller itself). A consumer counts as
// the user who got its token, of which a user can make any number.
func memberOf(model string, id identity) admission.Member {
	switch id.Tag.Kind {
	case entity.KindUser:
		return admission.Member{Tag: entity.UserTag(strings.ToLower(id.Tag.ID))}
	case entity.KindConsumer:
		return admission.Member{Tag: entity.UserTag(strings.ToLower(entity.UserOf(id.Consumer.User)))}
	}
	return admission.Member{Model: model, Tag: id.Tag}
}
