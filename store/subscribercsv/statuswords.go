package subscribercsv

import (
	"strings"

	"newsletterd/core"
)

// standing is the status of a person according to a file. It uses the values of package core where they exist.
type standing string

const (
	unknown      standing = ""
	joined       standing = "active"
	pending      standing = "pending" // never confirmed
	never        standing = "never"   // never joined
	unsubscribed standing = "unsubscribed"
	bounced      standing = "bounced"
	complained   standing = "complaint"
	suppressed   standing = "suppressed"
)

// leaves reports whether the standing means that the person is not a subscriber, even with AskAgain.
func (s standing) leaves() bool { return s != unknown && s != joined && s != pending }

// block returns the status that blocks emails to the person, if any.
func (s standing) block() core.Status {
	switch s {
	case bounced, complained, suppressed:
		return core.Status(s)
	}
	return core.NotBlocked
}

// statusWords maps status words, folded by foldCell, to their standing. They come from the exports of other programs,
// in English, German, French, Spanish, Italian, Dutch, Portuguese, Polish, Swedish, Danish, Norwegian, Czech, Turkish
// and Russian.
var statusWords = byWords(wordsOfStanding)

func byWords(words map[standing]string) map[string]standing {
	all := map[string]standing{}
	for said, words := range words {
		for word := range strings.FieldsSeq(words) {
			all[word] = said
		}
	}
	return all
}

// wordsOfStanding maps each standing to the status words that mean it.
var wordsOfStanding = map[standing]string{
	joined: `active subscribed confirmed enabled optedin optin regular premium implied express explicit activated
			marketingcontact
			aktiv angemeldet bestatigt bestaetigt abonniert aktiviert eingetragen
			actif abonne abonnee inscrit inscrite confirme confirmee
			activo activa suscrito suscrita confirmado confirmada
			iscritto iscritta attivo attiva confermato confermata
			actief ingeschreven bevestigd geabonneerd aangemeld
			ativo ativa inscrito inscrita subscrito subscrita assinante
			aktywny aktywna zapisany zapisana potwierdzony potwierdzona
			aktiva prenumererar prenumerant bekraftad tilmeldt abonnerer pameldt bekreftet bekraeftet
			odebira odberatel prihlasen prihlasena aktivni potvrzen potvrzena potvrzeno
			abone uye onayli onaylandi
			подписан подписана подписчик подписался подписалась активен активна активный активная подтвержден подтверждена`,
	pending: `pending unconfirmed unactivated notconfirmed notactivated notyetconfirmed awaitingconfirmation
			pendingconfirmation waitingforconfirmation confirmationpending optinpending doubleoptinpending unverified validating
			unbestatigt unbestaetigt nichtbestatigt nichtbestaetigt ausstehend wartend wartetaufbestatigung
			wartetaufbestaetigung
			nonconfirme nonconfirmee enattente enattentedeconfirmation aconfirmer
			noconfirmado noconfirmada pendiente sinconfirmar pendientedeconfirmacion
			nonconfermato nonconfermata inattesa inattesadiconferma
			nietbevestigd inafwachting
			naoconfirmado naoconfirmada pendente aguardandoconfirmacao
			niepotwierdzony niepotwierdzona oczekujacy oczekujaca
			vantande obekraftad ejbekraftad afventer avventer ubekraeftet ubekreftet ikkebekraeftet ikkebekreftet
			nepotvrzen nepotvrzena nepotvrzeno cekanapotvrzeni
			beklemede bekliyor onaybekliyor onaylanmadi onaylanmamis
			неподтвержден неподтверждена неподтвержденный ожидает ожидаетподтверждения`,
	never: `nonsubscribed neversubscribed notsubscribed neverjoined transactional nopermission nopermissions
			nopermissionsset denied refused declined rejected notgiven notgranted noconsent notoptedin neveroptedin nonmarketingcontact
			nieangemeldet nichtangemeldet nieabonniert nichtabonniert keineeinwilligung
			verweigert abgelehnt nichterteilt nichtgegeben nichtgewahrt
			noninscrit noninscrite jamaisinscrit jamaisinscrite nonabonne nonabonnee jamaisabonne refuse refusee
			nosuscrito nosuscrita nuncasuscrito nuncasuscrita rechazado rechazada denegado denegada
			noniscritto noniscritta maiiscritto maiiscritta rifiutato rifiutata
			nietingeschreven nooitingeschreven geweigerd
			naoinscrito naoinscrita nuncainscrito nuncainscrita recusado recusada
			brakzgody niewyrazonozgody niezapisany niezapisana
			ejprenumerant prenumererarinte ejanmald ikketilmeldt ikkepameldt avbojd
			neprihlasen neprihlasena bezsouhlasu odmitnuto
			abonedegil izinyok reddedildi
			неподписан неподписана нетсогласия безсогласия отказ отказался отказалась`,
	unsubscribed: `unsubscribed unsubscribe unsub unsubbed unsubscribedbyuser unsubscribedbyadmin optedout optout
			hasoptedout globallyunsubscribed globalunsubscribe inactive deactivated disabled archived removed deleted cancelled
			canceled withdrawn revoked donotemail donotmail donotcontact
			nolongersubscribed manuallyunsubscribed dnc gone
			abgemeldet abbestellt ausgetragen widerrufen widersprochen inaktiv deaktiviert archiviert entfernt geloscht
			geloescht widerruf widerspruch zuruckgezogen zurueckgezogen gekundigt gekuendigt storniert
			desabonne desabonnee desinscrit desinscrite desactive desactivee archive archivee supprime supprimee inactif resilie
			desabonnement desinscription retire retiree opposition
			dadodebaja dadadebaja debaja baja desuscrito desuscrita desactivado desactivada inactivo inactiva archivado archivada
			eliminado eliminada anulado anulada cancelado cancelada borrado
			disiscritto disiscritta disiscrizione cancellato cancellata disattivato disattivata inattivo inattiva revocato revocata
			rimosso rimossa
			uitgeschreven afgemeld opgezegd inactief gedeactiveerd verwijderd ingetrokken
			descadastrado descadastrada desinscrito desinscrita inativo inativa desativado desativada removido removida
			wypisany wypisana wypisano nieaktywny nieaktywna usuniety usunieta rezygnacja
			wypisalsie wypisalasie wypisal wypisala wypisanie odsubskrybowany odsubskrybowana odsubskrybowano
			zrezygnowal zrezygnowala wyrejestrowany wyrejestrowana zgodawycofana wycofanozgode anulowany anulowana dezaktywowany
			avprenumererad avprenumererat avprenumererade avregistrerad avregistrerat avanmald avanmalt avslutad uppsagd
			borttagen raderad inaktiverad avaktiverad arkiverad aterkallat aterkallad
			afmeldt afmeldte frameldt framelding afmelding avmelding avmeldt avmeldte opsagt oppsagt slettet fjernet
			deaktiveret deaktivert arkiveret arkivert tilbagekaldt tilbakekalt trukkettilbake
			odhlasen odhlasena odhlaseno odhlaseny odhlasil odhlasila odhlasilse odhlasilase odhlaseni neaktivni zrusen
			zrusena zruseno odstranen odstranena smazan smazana smazano deaktivovan archivovan odvolanosouhlas souhlasodvolan
			aboneliktencikti aboneliktencikmis aboneliktenayrildi abonelikiptal abonelikiptali abonelikiptaledildi
			iptaledildi ayrildi silindi pasif
			отписан отписана отписано отписаны отписался отписалась отписались отписавшийся отписка отписать отписаться
			удален удалена удаленный неактивен неактивна неактивный неактивная деактивирован отключен отключена
			отозвано отозван согласиеотозвано нерассылать неприсылать неписать неотправлять
			відписаний відписана відписано відписався відписалась відписка`,
	bounced: `bounced bounce hardbounce hardbounced softbounce softbounced cleaned undeliverable undelivered invalid
			invalidemail invalidaddress
			unzustellbar nichtzustellbar ungultig ungueltig zuruckgewiesen zurueckgewiesen gebounced gebounct rucklaufer ruecklaufer
			rebond rebondi hardrebond rejete nondelivrable invalide
			rebotado rebotada rebote devuelto invalido invalida
			rimbalzato rimbalzata nonrecapitato nonrecapitabile nonconsegnato
			onbestelbaar ongeldig
			devolvido devolvida rejeitado rejeitada
			odbity odbita odrzucony odrzucona zwrocony zwrocona
			studsat studsad studs olevererbar ogiltig returneret returnert ugyldig
			nedorucitelny nedorucitelne nedoruceno neplatny neplatna
			geridondu gecersiz teslimedilemedi
			недоставлено недоставлен возвращено недействителен недействительный несуществует`,
	complained: `complained complaint complainer spam spammy spamcomplaint spamreport reportedspam reportedasspam markedasspam
			junk abuse abusecomplaint feedbackloop
			beschwerde spambeschwerde alsspammarkiert alsspamgemeldet
			plainte pourriel indesirable spamsignale signalecommespam marquecommespam
			queja correonodeseado quejadespam denunciado marcadocomospam
			reclamo segnalatocomespam contrassegnatocomespam
			klacht gemarkeerdalsspam
			reclamacao denunciadocomospam
			skarga zgloszonojakospam klagomal klage markeretsomspam merketsomspam stiznost sikayet sikayetetti
			жалоба пожаловался пожаловалась спам`,
	suppressed: `suppressed usersuppressed manuallysuppressed suppression suppressionlist blocked
			blocklisted blocklist blacklisted blacklist quarantined
			excluded banned suspended onhold temporaryhold
			gesperrt blockiert unterdruckt unterdrueckt ausgeschlossen sperrliste
			bloque bloquee listenoire surlistenoire exclu exclue
			bloqueado bloqueada listanegra suprimido suprimida excluido excluida
			bloccato bloccata soppresso soppressa escluso esclusa listanera
			geblokkeerd onderdrukt uitgesloten
			zablokowany zablokowana wykluczony wykluczona
			czarnalista blockerad sparrad svartlistad blokeret blokkert sortlistet svartelistet sperret spaerret
			blokovan blokovana zablokovan zablokovana vyloucen
			engellendi engelli karaliste
			заблокирован заблокирована заблокировано черныйсписок вчерномсписке стоплист`,
}
