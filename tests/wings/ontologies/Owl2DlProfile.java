import java.io.File;
import java.util.HashSet;
import java.util.Set;
import javax.xml.parsers.DocumentBuilderFactory;
import org.semanticweb.owlapi.apibinding.OWLManager;
import org.semanticweb.owlapi.model.IRI;
import org.semanticweb.owlapi.model.OWLOntology;
import org.semanticweb.owlapi.model.OWLOntologyManager;
import org.semanticweb.owlapi.profiles.OWL2DLProfile;
import org.semanticweb.owlapi.profiles.OWLProfileViolation;
import org.semanticweb.owlapi.util.SimpleIRIMapper;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/** Prints a line for each violation of the OWL 2 DL profile that the OWL API finds in files. */
public class Owl2DlProfile {
    public static void main(String[] files) throws Exception {
        for (String name : files) {
            File file = new File(name).getAbsoluteFile();
            OWLOntologyManager manager = OWLManager.createOWLOntologyManager();
            File catalog = new File(file.getParentFile(), "catalog-v001.xml");
            if (catalog.exists()) {
                NodeList entries = DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(catalog).getElementsByTagName("uri");
                for (int i = 0; i < entries.getLength(); i++) {
                    Element entry = (Element) entries.item(i);
                    File imported = new File(file.getParentFile(), entry.getAttribute("uri"));
                    manager.addIRIMapper(new SimpleIRIMapper(IRI.create(entry.getAttribute("name")), IRI.create(imported)));
                }
            }
            OWLOntology ontology = manager.loadOntologyFromOntologyDocument(file);
            Set<String> seen = new HashSet<String>();
            for (OWLProfileViolation each : new OWL2DLProfile().checkOntology(ontology).getViolations()) {
                if (seen.add(each.toString())) {
                    System.out.println(file.getName() + "\t" + each.toString().replaceAll("\\s+", " "));
                }
            }
        }
    }
}
