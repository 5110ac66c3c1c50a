"""Calls python-libjuju, a published client of the API, as its users do.

The argument is a directory with the charms "app" and "db". Each call is printed with what became of it. Those in
MISSING must fail, with what is missing; all others must succeed. The environment variable RECORD may name a file for
the requests, in the form of apiserver/testdata/requests.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import traceback

from juju.bundle import BundleHandler, ChangeSet
from juju.client import client
from juju.client.connection import Connection
from juju.controller import Controller
from juju.errors import JujuError
from juju.model import Model

import libjuju_verbs

CHARMS = sys.argv[1]
MISSING = {
    'add_cloud': 'a second cloud',
    'scale': 'a model of Kubernetes',
    'deploy for the host': 'a series that the library knows, as the default',
}
wrong = 0
requests = []  # the model's UUID and what was sent


async def record(conn, msg, encoder=None, rpc=Connection.rpc):
    """Note a request. What is called on a watcher, which is named by Id or id, has that behind the facade."""
    where = 'model' if conn.uuid else 'controller'
    facade = msg['type'] + next(('/' + key for key in ('Id', 'id') if key in msg), '')
    params = json.dumps(msg.get('params') or {}, cls=encoder, separators=(',', ':'))
    version = msg.get('version') or conn.facades[msg['type']]
    requests.append((conn.uuid, f'{where} {facade} {version} {msg["request"]} {params}'))
    return await rpc(conn, msg, encoder)


def write_requests(file, model):
    """Write what was sent at the controller and in a model, each once, with variables for what is another each time."""
    variables = {r'"credentials":"[^"]*"': '"credentials":"$PASSWORD"', '[0-9a-f]{8}-[0-9a-f-]{27}': '$MODEL',
                 'admin/lib': 'admin/default', '(cloud-|cloudcred-|"provider":")local': r'\1dummy', r'local:[a-z]+/(app|db)-\d+': r'$\1'}
    with open(file, 'w') as f:
        sent = [line for uuid, line in requests if uuid in (None, model)]
        for old, new in variables.items():
            sent = [re.sub(old, new, line) for line in sent]
        f.writelines(line + '\n' for line in dict.fromkeys(sent))


if 'RECORD' in os.environ:
    Connection.rpc = record


async def call(name, what, seconds=300):
    """Await what, and judge what became of it. The result is None if it failed."""
    global wrong
    result = None
    try:
        result = await asyncio.wait_for(what, seconds)
        outcome = 'ok'
    except Exception as e:
        outcome = ''.join(traceback.format_exception_only(type(e), e)).strip()
        if os.environ.get('TRACE'):
            traceback.print_exc()
    expected = (outcome == 'ok') != (name in MISSING)
    wrong += not expected
    print('as expected:' if expected else 'WRONG:', name, outcome, flush=True)
    return result


async def until(model, true):
    """Wait for what the watch of everything says."""
    await model.block_until(true, timeout=300)


async def summaries(c):
    # The library's own watch_model_summaries sends a function instead of the watcher's id.
    facade = client.ControllerFacade.from_connection(c.connection())
    for watch in facade.WatchModelSummaries, facade.WatchAllModelSummaries:
        id = (await watch()).watcher_id
        reply = await c.connection().rpc(dict(type='ModelSummaryWatcher', request='Next', version=1, params={}, Id=id))
        models = client.SummaryWatcherNextResults.from_json(reply['response']).models
        assert ('default', 'green') in [(m.name, m.status) for m in models], reply


async def controller_calls():
    c = Controller()
    await call('controller.connect', c.connect())
    models = await call('list_models', c.list_models())
    assert models and 'default' in models, models
    await call('model_uuids', c.model_uuids())
    await call('get_users', c.get_users())
    await call('controller.info', c.info())
    await call('add_user', c.add_user('bob', password='secret', display_name='Bob'))
    await call('grant', c.grant('bob', 'superuser'))
    await call('get_cloud', c.get_cloud())
    await call('cloud', c.cloud())
    await call('clouds', c.clouds())
    await call('model summaries', summaries(c))
    await libjuju_verbs.users(call, c)
    await libjuju_verbs.clouds(call, c)
    return c


async def main():
    c = await controller_calls()
    await call('add_model', c.add_model('other'))
    subprocess.run(['juju', 'add-model', '-q', 'lib', '--config', 'update-status-hook-interval=1h'], check=True)
    c._connector.jujudata.refresh()
    m = Model()
    await call('model.connect', m.connect(model_name='lib'))
    await model_calls(c, m)
    if 'RECORD' in os.environ:
        write_requests(os.environ['RECORD'], m.uuid)
    await call('model.disconnect', m.disconnect())
    await call('destroy_models', c.destroy_models('lib', destroy_storage=True, force=True, max_wait=10))
    await call('controller.disconnect', c.disconnect())


async def model_calls(c, m):
    async def config():
        await app.set_config({'title': 'x', 'n': '4'})
        values = await app.get_config()
        assert values['title']['value'] == 'x' and values['n']['value'] == 4, values
        await app.reset_config(['title'])
        assert (await app.get_config())['title']['value'] == 'hello'

    async def units():
        more = await db.add_unit(count=1)
        assert len(more) == 1
        await until(m, lambda: len(db.units) == 2 and all(u.workload_status == 'active' for u in db.units))
        await db.destroy_unit(more[0].name)
        await until(m, lambda: len(db.units) == 1)

    async def relate():
        r = await m.integrate('app:db', 'db:db')
        await until(m, lambda: any(r.matches('app:db', 'db:db') for r in m.relations))
        assert [e.name for e in m.relations[0].endpoints] == ['db', 'db'], m.relations
        assert len(app.relations) == 1

    async def action(name, **params):
        a = await app.units[0].run_action(name, **params)
        return await a.wait()

    async def hi():
        a = await action('hi', who='you')
        assert (a.status, a.results['greeting']) == ('completed', 'hi you'), (a.status, a.results)

    async def bad():
        a = await action('bad')
        assert a.status == 'failed', a.status

    async def run():
        a = await app.units[0].run('echo hello')
        await a.wait()
        assert a.results['stdout'].strip() == 'hello', a.results

    async def status():
        s = await m.get_status()
        assert s.applications['app'].units['app/0'].workload_status.status == 'active'

    async def annotate():
        await app.set_annotations({'x': 'y'})
        assert (await app.get_annotations()) == {'x': 'y'}

    async def machine():
        machine = await m.add_machine()
        number = machine.id
        await until(m, lambda: m.machines[number].agent_status == 'started' if number in m.machines else False)
        await machine.destroy(force=True)
        await until(m, lambda: number not in m.machines)

    async def expose():
        await app.expose()
        await until(m, lambda: app.exposed)
        await app.unexpose()
        await until(m, lambda: not app.exposed)

    async def resolve():
        try:
            await app.units[0].resolved()
        except JujuError as e:
            assert 'is not in an error state' in str(e), e
        else:
            raise AssertionError('a unit without an error is resolved')

    async def facts():
        facade = app._facade()
        origin = await facade.GetCharmURLOrigin(application='app')
        assert (origin.url, origin.charm_origin.source, origin.charm_origin.type_) == (app.charm_url, 'local', 'charm'), origin
        relations = await facade.CharmRelations(application='app')
        assert relations.charm_relations == ['db', 'juju-info'], relations
        leader = await facade.Leader(tag='application-app')
        assert leader.result == 'app/0', leader

    async def export():
        text = await m.export_bundle()
        facade = client.BundleFacade.from_connection(m.connection())
        plan = await facade.GetChangesMapArgs(yaml=text, bundleurl='./exported')
        assert not plan.errors, plan.errors
        steps = [c.method for c in plan.changes]
        assert steps.count('deploy') == 2 and steps.count('addUnit') == 2 and 'addRelation' in steps, (steps, text)
        for c in ChangeSet(plan.changes).sorted():
            assert c.method in BundleHandler(m).change_types, c.method

    async def offers():
        subprocess.run(['juju', 'add-model', '-q', 'user'], check=True)
        c._connector.jujudata.refresh()
        await m.create_offer('db:db')
        await until(m, lambda: 'db' in m.application_offers)
        assert m.application_offers['db'].offer_name == 'db', m.application_offers
        other = Model()
        await other.connect(model_name='user')
        await call('consume', other.consume('admin/lib.db', application_alias='far'))
        await until(other, lambda: 'far' in other.remote_applications)
        await until(other, lambda: other.remote_applications['far'].status == 'active')
        await other.remove_saas('far')
        await until(other, lambda: 'far' not in other.remote_applications)
        await other.disconnect()
        await m.remove_offer('admin/lib.db', force=True)
        await until(m, lambda: 'db' not in m.application_offers)

    await call('deploy for the host', m.deploy(os.path.join(CHARMS, 'db'), application_name='host'))
    # The library knows Ubuntu's series only. On another host, force runs the charms on the host's series.
    how = {'series': 'jammy', 'force': True}
    app = await call('deploy', m.deploy(os.path.join(CHARMS, 'app'), application_name='app', config={'n': 5}, **how))
    db = await call('deploy two', m.deploy(os.path.join(CHARMS, 'db'), application_name='db', num_units=1, **how))
    if app is None or db is None:
        return
    await call('active', until(m, lambda: all(u.workload_status == 'active' for a in (app, db) for u in a.units) and app.units))
    await call('status', status())
    await call('config', config())
    await call('integrate', relate())
    await call('add_unit', units())
    await call('run_action', hi())
    await call('run_action that fails', bad())
    await call('run', run())
    await call('annotations', annotate())
    await call('add_machine', machine())
    await call('expose', expose())
    await call('get_actions', app.get_actions())
    await call('get_constraints', app.get_constraints())
    await call('set_constraints', app.set_constraints({'mem': 100}))
    await call('model config', m.get_config())
    await call('set model config', m.set_config({'update-status-hook-interval': '50m'}))
    await call('model constraints', m.get_constraints())
    await call('get_resources', app.get_resources())
    subprocess.run(['juju', 'set-application-base', '-m', 'lib', 'app', 'ubuntu@22.04', '--force'], check=True)
    await call('upgrade', app.refresh(path=os.path.join(CHARMS, 'app')))
    await call('wait_for_idle', m.wait_for_idle(apps=['app', 'db'], status='active', timeout=300, idle_period=1))
    await call('is_leader', app.units[0].is_leader_from_status())
    await call('public address', app.units[0].get_public_address())
    await call('facts', facts())
    await call('trusted', app.get_trusted())
    await call('scale', app.scale(2))
    await call('export_bundle', export())
    await call('list_storage', m.list_storage())
    await call('offers', offers())
    await libjuju_verbs.model(call, m)
    await libjuju_verbs.storage(call, m, CHARMS, until)
    await call('remove_relation', app.remove_relation('db', 'db:db'))
    await call('resolve', resolve())
    await call('remove', m.remove_application('app', block_until_done=True))
    await call('gone', until(m, lambda: 'app' not in m.applications))


asyncio.run(main())
sys.exit(wrong)
