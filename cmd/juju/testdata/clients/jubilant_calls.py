"""Calls jubilant, a published client that drives juju, as its own tests do.

The arguments are a directory with the charms "app" and "db", and one for files. Each call is printed with what became
of it. Those in MISSING must fail, with what is missing; all others must succeed. The environment variable RECORD may
name a file for the command lines, of which jubilant_lines.txt is made.
"""

import logging
import os
import sys
import traceback

import jubilant

CHARMS, FILES = sys.argv[1:]
if 'RECORD' in os.environ:
    logging.basicConfig(filename=os.environ['RECORD'], level=logging.INFO, format='%(message)s')
M = 'm'
MISSING = {
}
j = jubilant.Juju(wait_timeout=300)
wrong = 0


def call(name):
    def make(f):
        global wrong
        try:
            f()
            outcome = 'ok'
        except BaseException as e:
            outcome = ''.join(traceback.format_exception_only(type(e), e)).strip()
        expected = (outcome == 'ok') != (name in MISSING)
        wrong += not expected
        print('as expected:' if expected else 'WRONG:', name, outcome)
        return f

    return make


@call('version')
def _():
    v = j.version()
    assert v.tuple >= (3, 6, 0), v
    assert str(v) == j.cli('version', include_model=False).strip()


@call('add_model')
def _():
    j.add_model(M, config={'update-status-hook-interval': '1h'})


@call('add_model cloud+credential')
def _():
    k = jubilant.Juju()
    k.add_model(M + 'b', 'local', credential='default')
    k.destroy_model(M + 'b', destroy_storage=True, force=True, no_wait=True, timeout=5)


@call('deploy')
def _():
    j.deploy(CHARMS + '/app', config={'title': 'x', 'n': 4, 'flag': True})
    j.deploy(CHARMS + '/db', num_units=2, base='debian@12', constraints={'mem': '100M'})
    j.wait(jubilant.all_active)


@call('status')
def _():
    s = j.status()
    assert s.apps['app'].units['app/0'].is_active
    assert s.apps['app'].charm_origin == 'local'


@call('integrate')
def _():
    j.integrate('app', 'db')
    s = j.wait(lambda s: s.apps['app'].relations.get('db') is not None and jubilant.all_agents_idle(s))
    r = s.apps['app'].relations['db'][0]
    assert (r.related_app, r.interface, r.scope) == ('db', 'dbi', 'global'), r


@call('show_unit')
def _():
    u = j.show_unit('app/0')
    assert u.relation_info[0].related_units['db/0'].data['url'] == 'x', u
    assert u.leader and u.opened_ports == ['8080/tcp'], u


@call('show_model')
def _():
    m = j.show_model()
    assert m.short_name == M and m.agent_version, m


@call('config get')
def _():
    c = j.config('app')
    assert c['title'] == 'x' and c['n'] == 4 and c['flag'] is True, c


@call('config app')
def _():
    c = j.config('app', app_config=True)
    assert c['trust'] is False, c


@call('config set/reset')
def _():
    j.config('app', {'title': 'y', 'flag': False})
    assert j.config('app')['title'] == 'y'
    j.config('app', reset='title')
    assert j.config('app')['title'] == 'hello'


@call('model_config')
def _():
    c = j.model_config()
    assert c['update-status-hook-interval'] == '1h', c
    j.model_config({'update-status-hook-interval': '30m'})
    j.model_config(reset='update-status-hook-interval')


@call('model_constraints')
def _():
    j.model_constraints({'mem': '200M', 'cores': 1})
    c = j.model_constraints()
    assert c == {'mem': '200M', 'cores': 1} or c['mem'] in (200, '200M'), c


@call('run')
def _():
    r = j.run('app/0', 'hi', {'who': 'you'})
    assert r.results == {'greeting': 'hi you'}, r
    assert r.log == ['saying hi'] or 'saying hi' in r.log[0], r


@call('run leader')
def _():
    r = j.run('app/leader', 'hi', {'who': 'you'}, wait=30)
    assert r.success


@call('run fails')
def _():
    try:
        j.run('app/0', 'bad')
    except jubilant.TaskError as e:
        assert e.task.message == 'no good' and e.task.status == 'failed', e
    else:
        raise AssertionError('no error')


@call('run unknown action')
def _():
    try:
        j.run('app/0', 'nope')
    except ValueError:
        pass
    else:
        raise AssertionError('no error')


@call('run unknown unit')
def _():
    try:
        j.run('app/42', 'hi')
    except ValueError:
        pass
    else:
        raise AssertionError('no error')


@call('exec')
def _():
    r = j.exec('echo foo', unit='app/0')
    assert r.success and r.stdout == 'foo\n' and r.return_code == 0, r
    r = j.exec('echo', 'bar', 'baz', machine=0)
    assert r.stdout == 'bar baz\n', r


@call('exec fails')
def _():
    try:
        j.exec('echo OUT; echo ERR >&2; sleep x', unit='app/0')
    except jubilant.TaskError as e:
        assert e.task.stdout == 'OUT\n' and e.task.return_code and 'ERR' in e.task.stderr, e
    else:
        raise AssertionError('no error')


@call('exec timeout')
def _():
    try:
        j.exec('sleep 10', unit='app/0', wait=0.1)
    except TimeoutError:
        pass
    else:
        raise AssertionError('no error')


@call('exec unknown')
def _():
    try:
        j.exec('echo foo', machine=42)
    except ValueError as e:
        assert 'machine' in str(e)
    else:
        raise AssertionError('no error')


@call('ssh')
def _():
    o = j.ssh('app/0', 'echo', 'hello')
    assert o == 'hello\n', o
    o = j.ssh(0, 'echo hello')
    assert o == 'hello\n', o


@call('ssh leader')
def _():
    assert j.ssh('app/leader', 'echo hi') == 'hi\n'


@call('scp')
def _():
    open(FILES + '/scp.txt', 'w').write('abc')
    j.scp(FILES + '/scp.txt', 'app/0:' + FILES + '/scp2.txt')
    j.scp('app/0:' + FILES + '/scp2.txt', FILES + '/scp3.txt')


@call('add_unit')
def _():
    j.add_unit('app')
    j.wait(lambda s: jubilant.all_active(s) and len(s.apps['app'].units) == 2)


@call('add_unit to')
def _():
    j.add_unit('db', to='0', num_units=1)
    j.wait(lambda s: jubilant.all_active(s) and len(s.apps['db'].units) == 3)


@call('remove_unit')
def _():
    j.remove_unit('db/2', destroy_storage=True, force=True)
    j.wait(lambda s: len(s.apps['db'].units) == 2)


@call('trust')
def _():
    j.trust('app')
    assert j.config('app', app_config=True)['trust'] is True
    j.trust('app', remove=True)


@call('add_machine')
def _():
    j.add_machine(base='debian@12', constraints={'mem': '100M'})
    j.wait(lambda s: len(s.machines) >= 3)


@call('refresh path')
def _():
    j.refresh('db', path=CHARMS + '/db')
    j.wait(jubilant.all_active)


@call('debug_log')
def _():
    assert j.debug_log(limit=10).count('\n') >= 5


@call('offer+consume')
def _():
    j.offer(M + '.db', endpoint='db', name='dbo')
    k = jubilant.Juju(wait_timeout=300)
    k.add_model(M + 'c')
    k.deploy(CHARMS + '/app')
    k.consume('admin/' + M + '.dbo', 'rdb')
    k.integrate('app', 'rdb')
    k.wait(jubilant.all_active)
    k.destroy_model(M + 'c', force=True)


@call('remove_relation')
def _():
    j.remove_relation('app', 'db')
    j.wait(lambda s: not s.apps['app'].relations)


@call('remove_application')
def _():
    j.remove_application('app', 'db', destroy_storage=True, force=True)
    j.wait(lambda s: not s.apps)


@call('destroy_model')
def _():
    j.destroy_model(M, destroy_storage=True, force=True)


@call('temp_model')
def _():
    with jubilant.temp_model() as k:
        k.deploy(CHARMS + '/db')
        k.wait(jubilant.all_active)


sys.exit(min(wrong, 1))
