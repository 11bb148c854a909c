import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { until } from '@trunkline/sip/user-agent/testing.ts'
import {
  answer,
  closedAfter,
  dial,
  fromBrowser,
  openMedia,
  openWorld,
  receivesTone,
  toBrowsers,
  toCarrier,
  trunkOf,
} from '../../src/adapters/sip-gateway/testing.ts'
import { makeSoftphone } from '../media/softphone.ts'
import { needs } from '../needs.ts'
import { freePort, runProgram } from './program.ts'
import { bobAt, openTelephone } from './telephone.ts'

// Kamailio as a trunk: a registrar and record-routing proxy between the gateway and baresip. We wrote neither.

const media = await openMedia()
after(() => media.close())

/** Numbers that begin with +336 belong to bob, all others to us. */
const configOf = (port: number): string => `
debug=1
log_stderror=yes
children=2
listen=udp:127.0.0.1:${port}
listen=tcp:127.0.0.1:${port}
mpath="/usr/lib/x86_64-linux-gnu/kamailio/modules/"
${['tm', 'tmx', 'sl', 'rr', 'pv', 'maxfwd', 'textops', 'siputils', 'xlog', 'usrloc', 'registrar', 'auth', 'corex']
  .map((name) => `loadmodule "${name}.so"`)
  .join('\n')}
modparam("rr", "enable_full_lr", 1)
request_route {
  if (!mf_process_maxfwd_header("10")) { sl_send_reply("483", "Too Many Hops"); exit; }
  if (has_totag()) {
    if (loose_route()) {
      xlog("L_NOTICE", "SEEN loose $rm\\n");
      t_relay();
      exit;
    }
    if (is_method("ACK")) { if (t_check_trans()) t_relay(); exit; }
    xlog("L_NOTICE", "SEEN strict $rm\\n");
    sl_send_reply("404", "Not Here");
    exit;
  }
  if (is_method("CANCEL")) {
    xlog("L_NOTICE", "SEEN CANCEL\\n");
    if (t_check_trans()) t_relay();
    exit;
  }
  if (is_method("OPTIONS")) { sl_send_reply("200", "Keepalive"); exit; }
  if (!pv_www_authenticate("proxy.test", "pass", "0")) { www_challenge("proxy.test", "1"); exit; }
  consume_credentials();
  if (is_method("REGISTER")) {
    xlog("L_NOTICE", "SEEN REGISTER of $tU\\n");
    save("location");
    exit;
  }
  if (!is_method("INVITE")) { sl_send_reply("405", "Method Not Allowed"); exit; }
  record_route();
  $var(number) = $rU;
  if ($rU =~ "^\\+336") $rU = "bob"; else $rU = "us";
  if (!lookup("location")) { sl_send_reply("404", "Nobody"); exit; }
  if (!($var(number) =~ "^\\+336")) $rU = $var(number);
  xlog("L_NOTICE", "SEEN INVITE to $var(number)\\n");
  t_relay();
}
`

const openProxy = async (t: TestContext) => {
  const folder = mkdtempSync(join(tmpdir(), 'kamailio-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const port = await freePort()
  const file = join(folder, 'kamailio.cfg')
  writeFileSync(file, configOf(port))
  const command = ['kamailio', '-f', file, '-DD', '-E', '-Y', folder, '-m', '32', '-M', '4']
  const program = runProgram(t, command, folder, {}, 'TERM')
  // A refused REGISTER is sent again after 30 s: longer than a test waits.
  await program.listens(port)
  const seen = (what: string) => program.output().split(`SEEN ${what}`).length - 1
  return { port, program, seen, sees: (what: string, times = 1) => until(() => seen(what) >= times, what) }
}

for (const transport of ['udp', 'tcp'] as const)
  test(
    `a call of a browser goes through Kamailio over ${transport}, which registers us and stays on the route`,
    needs('kamailio'),
    async (t) => {
      const proxy = await openProxy(t)
      const telephone = await openTelephone(t, bobAt(proxy.port))
      const login = {
        transport,
        username: 'us',
        password: 'pass',
        register: true,
        domain: 'proxy.test',
        pingSeconds: 1,
      }

      await t.test('a browser calls a telephone, which is held and hung up', async (inner) => {
        const { gateway, browser, ended } = await openWorld(inner, toCarrier, { media })
        await gateway.apply([trunkOf(proxy.port, login)])
        await until(() => gateway.trunk('carrier')?.registered === true, `a registration: ${proxy.program.output()}`)
        await until(() => gateway.trunk('carrier')?.state === 'up')
        await proxy.sees('REGISTER of bob')
        const ann = await browser('ANN')
        const softphone = await closedAfter(inner, makeSoftphone())
        const { dialled } = await dial(ann, fromBrowser(ann), softphone)
        await until(() => dialled.progress.includes(180), `ringing: ${proxy.program.output()}`)
        telephone.tell('accept')
        const session = await until(() => dialled.session, `an answer: ${telephone.program.output()}`)
        softphone.sendTone(1_000)
        await receivesTone(softphone, 1_000)
        await proxy.sees('loose ACK')
        telephone.tell('hold')
        await proxy.sees('loose INVITE')
        telephone.tell('resume')
        await proxy.sees('loose INVITE', 2)
        await session.bye()
        assert.equal((await ended()).how, 'completed')
        await proxy.sees('loose BYE')
        assert.equal(proxy.seen('strict'), 0)
      })
    },
  )

test('a telephone behind Kamailio calls a browser, which hangs up', needs('kamailio'), async (t) => {
  const proxy = await openProxy(t)
  const telephone = await openTelephone(t, bobAt(proxy.port))
  const login = { username: 'us', password: 'pass', register: true, domain: 'proxy.test' }

  const { gateway, browser, callControl, ended } = await openWorld(t, toBrowsers('ANN'), { media })
  await gateway.apply([trunkOf(proxy.port, login)])
  await until(() => gateway.trunk('carrier')?.registered === true, 'a registration')
  const ann = await browser('ANN')
  const softphone = await closedAfter(t, makeSoftphone())
  telephone.tell('dial', `sip:+33187654321@127.0.0.1:${proxy.port}`)
  const call = await until(() => ann.calls[0], `a call: ${telephone.program.output()} ${proxy.program.output()}`)
  const acknowledged = proxy.seen('loose ACK')
  const { session } = await answer(call, softphone)
  await proxy.sees('loose ACK', acknowledged + 1)
  assert.equal(Object(callControl.of('receive')[0]?.about).to, '+33187654321')
  softphone.sendTone(1_000)
  await receivesTone(softphone, 1_000)
  const byes = proxy.seen('loose BYE')
  await session.bye()
  assert.deepEqual([(await ended()).how, proxy.seen('strict')], ['completed', 0])
  await proxy.sees('loose BYE', byes + 1)
})
