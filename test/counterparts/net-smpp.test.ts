import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { needs } from '../needs.ts'
import {
  bindSession,
  handsetMessages,
  makeSimulatorHome,
  ownNumber,
  password,
  startSimulator,
  submitAll,
} from '../simulator.ts'
import { freePort, runProgram } from './program.ts'

// Net::SMPP, which we did not write, as client and as server: Perl, with its own encoder and decoder.

const isHere = () => {
  try {
    execFileSync('perl', ['-MNet::SMPP', '-e', '1'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const client = `
use strict; use Net::SMPP;
my ($port, $password, $from, $to) = @ARGV;
my ($smpp, $bound) = Net::SMPP->new_transceiver('127.0.0.1', port => $port, system_id => 'perl', password => $password)
  or die "no connection: $!";
die 'bind refused: ' . $bound->status unless $bound->status == 0;
for my $text ('first', 'second', 'third') {
  my $answer = $smpp->submit_sm(source_addr_ton => 1, source_addr_npi => 1, source_addr => $from, dest_addr_ton => 1,
    dest_addr_npi => 1, destination_addr => $to, short_message => $text) or die 'no answer';
  die $answer->explain_status unless $answer->status == 0;
  print "accepted $answer->{message_id}\\n";
}
my $state = $smpp->enquire_link() or die 'no enquire_link_resp';
print 'alive ', $state->status, "\\n";
my $bye = $smpp->unbind() or die 'no unbind_resp';
print 'unbound ', $bye->status, "\\n";
`

const server = `
use strict; use Net::SMPP; $| = 1;
my $listener = Net::SMPP->new_listen('127.0.0.1', port => $ARGV[0], smpp_version => 0x34) or die "no listener: $!";
print "listening\\n";
my $esme = $listener->accept or die "accept: $!";
my $count = 0;
while (my $pdu = $esme->read_pdu()) {
  if ($pdu->cmd == Net::SMPP::CMD_bind_transceiver) {
    print "bind $pdu->{system_id} $pdu->{password}\\n";
    $esme->bind_transceiver_resp(system_id => 'perl', seq => $pdu->seq);
  } elsif ($pdu->cmd == Net::SMPP::CMD_submit_sm) {
    print "submit $pdu->{source_addr} $pdu->{destination_addr} $pdu->{data_coding} $pdu->{registered_delivery} ",
      unpack('H*', $pdu->{short_message}), "\\n";
    $esme->submit_sm_resp(message_id => 'perl-' . ++$count, seq => $pdu->seq);
  } elsif ($pdu->cmd == Net::SMPP::CMD_unbind) {
    print "unbind\\n";
    $esme->unbind_resp(seq => $pdu->seq);
    last;
  }
}
`

test('Net::SMPP binds to the sandbox SMSC, submits, enquires and unbinds', needs('Net::SMPP', isHere()), async (t) => {
  const folder = await makeSimulatorHome(t)
  const simulator = await startSimulator(t, folder)
  const args = [String(simulator.smppPort), password, ownNumber.slice(1), '33612345678']
  const program = runProgram(t, ['perl', '-e', client, ...args], folder)
  assert.equal(await program.ended, 0, program.output())
  assert.match(program.output(), /^(?:accepted \d+\n){3}alive 0\nunbound 0\n$/)
  const texts = (await handsetMessages(simulator, '+33612345678')).map(({ text }) => text)
  assert.deepEqual(texts, ['first', 'second', 'third'])
})

test('a connection binds to a server of Net::SMPP, submits and unbinds', needs('Net::SMPP', isHere()), async (t) => {
  const port = await freePort()
  const program = runProgram(t, ['perl', '-e', server, String(port)], await makeSimulatorHome(t))
  await program.prints('listening')
  const platform = await bindSession(t, port)
  const results = await submitAll(platform, '+33612345678', 'é@x')
  assert.deepEqual(results, [{ outcome: 'accepted', carrierId: 'perl-1' }])
  await platform.carrier.close()
  assert.equal(await program.ended, 0)
  assert.match(program.output(), /bind platform secret\nsubmit 447911123456 33612345678 0 1 050078\nunbind\n$/)
})
