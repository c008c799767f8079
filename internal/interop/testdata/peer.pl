#!/usr/bin/perl
# The Perl module Net::SMPP as a peer that is driven over its standard input: a line of JSON is an order, each line of
# its output an event. The forms of both are those of peer.js.
use strict;
use warnings;
use IO::Select;
use JSON::PP;
use Net::SMPP;
use Symbol;

$| = 1;
my $json = JSON::PP->new->canonical->latin1;
my ($session, $server);
my $waits = IO::Select->new(\*STDIN);

sub say_event { print $json->encode({@_}), "\n" }

# A session without a connection: what it writes is kept, what it reads is given.
{
    package Wireless;
    our @ISA = ('Net::SMPP');
    sub new_wireless {
        my $me = Symbol::gensym();
        ${*$me}{$_} = Net::SMPP::Default->{$_} for keys %{Net::SMPP::Default()};
        ${*$me}{async} = 1;
        ${*$me}{wire} = '';
        return bless $me, 'Wireless';
    }
    sub syswrite { my ($me, $data) = @_; ${*$me}{wire} .= $data; return length $data }
    sub sysread {
        my ($me, undef, $want, $at) = @_;
        my $got = substr(${*$me}{wire}, 0, $want, '');
        substr($_[1], $at) = $got;
        return length $got;
    }
}

# The mandatory fields that are numbers or strings of one value.
my @plain = qw(system_id password system_type interface_version addr_ton addr_npi address_range service_type
    source_addr_ton source_addr_npi source_addr dest_addr_ton dest_addr_npi destination_addr esm_class protocol_id
    priority_flag schedule_delivery_time validity_period registered_delivery replace_if_present_flag data_coding
    sm_default_msg_id message_id final_date message_state error_code esme_addr_ton esme_addr_npi esme_addr);

sub describe {
    my ($pdu) = @_;
    my %out = (id => $pdu->{cmd}, status => $pdu->{status}, sequence => $pdu->{seq}, fields => {}, tlvs => []);
    my $table = Net::SMPP::pdu_tab->{$pdu->{cmd}};
    $out{command} = $table ? $table->{cmd} : 'unknown';
    my %tlv = map { $_ => 1 } grep { /^[0-9]+$/ } keys %$pdu;
    my %optional = map { ((Net::SMPP::param_tab->{$_} || {})->{name} || '') => 1 } keys %tlv;
    for my $name (@plain) {
        next if !defined $pdu->{$name} || ref $pdu->{$name} || $optional{$name}; # message_state is a TLV too
        $out{fields}{$name} = $pdu->{$name};
    }
    $out{fields}{short_message_hex} = unpack 'H*', $pdu->{short_message} if defined $pdu->{short_message};
    $out{fields}{dest_address} = destinations($pdu) if defined $pdu->{number_of_dests};
    $out{fields}{unsuccess_sme} = unsuccessful($pdu) if defined $pdu->{no_unsuccess};
    push @{$out{tlvs}}, { tag => 0 + $_, hex => unpack('H*', $pdu->{$_}) } for sort { $a <=> $b } keys %tlv;
    return \%out;
}

sub destinations {
    my ($pdu) = @_;
    return [map {
        $pdu->{dest_flag}[$_] == 2 ? { dl_name => $pdu->{destination_addr}[$_] } : address($pdu, $_)
    } 0 .. $pdu->{number_of_dests} - 1];
}

sub unsuccessful {
    my ($pdu) = @_;
    return [map { { %{address($pdu, $_)}, error_status_code => $pdu->{error_status_code}[$_] } } 0 .. $pdu->{no_unsuccess} - 1];
}

sub address {
    my ($pdu, $i) = @_;
    return { map { $_ => $pdu->{$_}[$i] } qw(dest_addr_ton dest_addr_npi destination_addr) };
}

# arguments makes what the module's methods want of an order.
sub arguments {
    my ($order) = @_;
    my %fields = %{$order->{fields} || {}};
    delete $fields{sm_length};
    $fields{short_message} = pack 'H*', delete $fields{short_message_hex} if exists $fields{short_message_hex};
    if (my $all = delete $fields{dest_address}) {
        $fields{dest_flag} = [map { exists $_->{dl_name} ? 2 : 1 } @$all];
        $fields{destination_addr} = [map { exists $_->{dl_name} ? $_->{dl_name} : $_->{destination_addr} } @$all];
        $fields{$_} = fields_of($all, $_) for qw(dest_addr_ton dest_addr_npi);
    }
    if (my $all = delete $fields{unsuccess_sme}) {
        $fields{$_} = fields_of($all, $_) for qw(dest_addr_ton dest_addr_npi destination_addr);
        $fields{error_status_code} = @$all ? fields_of($all, 'error_status_code') : [0]; # it wants one in any case
    }
    my @args = %fields;
    push @args, Net::SMPP::param_tab->{$_->{tag}}{name}, pack('H*', $_->{hex}) for @{$order->{tlvs} || []};
    push @args, seq => $order->{sequence} if $order->{sequence};
    push @args, status => $order->{status} if $order->{status};
    return @args;
}

sub fields_of { my ($all, $name) = @_; return [map { $_->{$name} || 0 } @$all] }

sub send_with {
    my ($me, $order) = @_;
    my $method = $order->{command};
    $me->$method(arguments($order));
}

sub adopt {
    ($session) = @_;
    ${*$session}{async} = 1;
    $waits->add($session);
    say_event(event => 'connected');
}

my %orders = (
    connect => sub {
        adopt(Net::SMPP->new_connect('127.0.0.1', port => $_[0]{port}, smpp_version => 0x34, async => 1) or die "no connection: $!\n");
    },
    listen => sub {
        $server = Net::SMPP->new_listen('127.0.0.1', port => 0, smpp_version => 0x34, async => 1) or die "cannot listen: $!\n";
        $waits->add($server);
        say_event(event => 'listening', port => $server->sockport);
    },
    send  => sub { send_with($session, $_[0]{pdu}) },
    close => sub { hang_up() },
    decode => sub {
        my $me = Wireless->new_wireless;
        ${*$me}{wire} = pack 'H*', $_[0]{hex};
        say_event(event => 'decoded', pdu => describe($me->read_pdu));
    },
    encode => sub {
        my $me = Wireless->new_wireless;
        send_with($me, $_[0]{pdu});
        say_event(event => 'encoded', hex => unpack 'H*', ${*$me}{wire});
    },
    tables => sub {
        my ($pdus, $params, $codes) = (Net::SMPP::pdu_tab, Net::SMPP::param_tab, Net::SMPP::status_code);
        say_event(event => 'tables',
            commands => { map { $pdus->{$_}{cmd} => 0 + $_ } keys %$pdus },
            statuses => { map { $codes->{$_}{code} => 0 + $_ } keys %$codes },
            tlvs     => { map { $params->{$_}{name} => 0 + $_ } keys %$params });
    },
);

sub hang_up {
    $waits->remove($session);
    close $session;
    say_event(event => 'closed');
}

sub receive {
    my $pdu = $session->read_pdu;
    return hang_up() if !defined $pdu;
    say_event(event => 'pdu', pdu => describe($pdu));
}

my $lines = '';
while (1) {
    for my $ready ($waits->can_read) {
        if ($ready == \*STDIN) {
            sysread(STDIN, $lines, 65536, length $lines) or exit 0;
            while ($lines =~ s/^(.*)\n//) {
                my $order = $json->decode($1);
                eval { $orders{$order->{do}}->($order); 1 } or say_event(event => 'failed', message => "$@");
            }
        } elsif (defined $server && $ready == $server) {
            adopt($server->accept);
        } else {
            receive();
        }
    }
}
